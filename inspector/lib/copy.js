'use strict';

// A frame as a text that goes elsewhere: its payload, its bytes, a command that sends it again.

const { beginningOf, beginningOfMessage, isCompressed } = require('./rows');

const MAX_BYTES = 1024 * 1024;
/** Linux takes arguments of up to 128 KiB. */
const MAX_COMMAND = 100_000;

/** @returns {{ bytes: Buffer, isText: boolean, isWhole: boolean } | null} a message, or a control frame's payload */
function contentOf(session, frame) {
  const { head } = frame;
  if (head === null) {
    const bytes = beginningOf(frame, MAX_BYTES);
    return bytes === null ? null : { bytes, isText: frame.opcode !== 8, isWhole: true };
  }
  const { inflated } = head.last;
  if (inflated === null && isCompressed(head)) return null;
  const bytes = inflated?.subarray(0, MAX_BYTES) ?? beginningOfMessage(session.fragmentsOf(frame), MAX_BYTES);
  return {
    bytes,
    isText: head.opcode === 1,
    isWhole: head.last.fin && bytes.length === (inflated?.length ?? head.size)
  };
}

/** A string literal without quotes and characters that a shell or a terminal would act on. */
const literal = (text) =>
  JSON.stringify(text).replace(/[^\x20-\x7e]|'/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

function commandOf(url, { bytes, isText }) {
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
 * @param {import('./session').Session} session
 * @param {number} index of a frame
 * @param {'payload' | 'hex' | 'frame' | 'command'} part
 * @returns {string}
 * @throws {Error} that says why there is none
 */
function copyOf(session, index, part) {
  const frame = session.frames[index];
  if (frame === undefined) throw new Error('There is no such frame');
  if (part === 'frame') {
    if (frame.parsed === null) throw new Error('Records do not have the bytes of a frame');
    return frame.parsed.bytes.subarray(0, MAX_BYTES).toString('hex');
  }
  const content = contentOf(session, frame);
  if (content === null) throw new Error('The payload is not known');
  const { bytes, isText, isWhole } = content;
  if (part === 'hex' || (part === 'payload' && !isText)) return bytes.toString('hex');
  if (part === 'payload') return bytes.toString();
  if (frame.head === null) throw new Error('A command sends text and binary messages only');
  if (!isWhole || bytes.length > MAX_COMMAND) throw new Error('The message is not complete, or too long for a command');
  return commandOf(session.connections[frame.connection].url, content);
}

module.exports = { copyOf };
