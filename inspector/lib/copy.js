'use strict';

// A frame as a text that goes elsewhere: its payload, its bytes, a command that sends it again.

const { payloadOf } = require('./session');

const MAX_BYTES = 1024 * 1024;
/** Linux takes arguments of up to 128 KiB. */
const MAX_COMMAND = 100_000;

/** A string literal without quotes and characters that a shell or a terminal would act on. */
const literal = (text) =>
  JSON.stringify(text).replace(/[^\x20-\x7e]|'/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A part of the bytes would pass for all of them. */
function whole(bytes) {
  if (bytes?.length > MAX_BYTES) throw new Error(`This is longer than ${MAX_BYTES} bytes: export it as pcapng`);
  return bytes;
}

function commandOf(url, bytes, isText) {
  const data = isText ? literal(bytes.toString()) : `Buffer.from("${bytes.toString('hex')}","hex")`;
  const program = [
    `const socket=new WebSocket(${literal(url ?? 'ws://ADDRESS/')})`,
    `socket.onopen=()=>socket.send(${data})`,
    'socket.onmessage=({data})=>console.log(data)',
    'socket.onclose=({code,reason})=>console.log("closed",code,reason)',
    'socket.onerror=({message})=>console.error(message)'
  ];
  return `node --experimental-websocket -e '${program.join(';')}'`;
}

/**
 * @param {number} index of a frame
 * @throws {Error} that says why there is none
 */
function copyOf(session, index, part) {
  const frame = session.frames[index];
  if (frame === undefined) throw new Error('There is no such frame');
  const { message, parsed, opcode, connection } = frame;
  if (part === 'frame') {
    if (parsed === null) throw new Error('Records do not have the bytes of a frame');
    return whole(parsed.bytes).toString('hex');
  }
  const bytes = whole(message === null ? payloadOf(frame, MAX_BYTES + 1) : message.content(MAX_BYTES + 1));
  if (bytes === null) throw new Error('The payload is not known');
  const isText = message === null ? opcode !== 8 : message.head.opcode === 1;
  if (part !== 'command') return bytes.toString(part === 'hex' || !isText ? 'hex' : 'utf8');
  if (!message?.isWhole(bytes) || bytes.length > MAX_COMMAND) {
    throw new Error(`A command sends text and binary messages that are complete, of up to ${MAX_COMMAND} bytes`);
  }
  return commandOf(session.connections[connection].url, bytes, isText);
}

module.exports = { copyOf };
