'use strict';

// The peer in programs of fuzz/ws.js that have one WebSocket only: it makes its handshake by hand,
// writes any bytes, cut anywhere, and logs the frames that it reads.

const { HANDSHAKE, head, readFrame, upgradeAnswer } = require('../../test/support/frames');
const { cut } = require('../../test/support/streams');
const { makeFrame } = require('./values');
const { PipeEnd } = require('./transports');
const { describeBytes } = require('./recorder');

const END = '\r\n\r\n';
const EMPTY = Buffer.alloc(0);

class RawPeer {
  /** All frames that it has sent. @type {Buffer[]} */
  sent = [];
  #role;
  #program;
  #log;
  #rest = EMPTY;
  #handshake = '';
  #answered = false;
  #closed = false;

  /** @param {(line: string) => void} log takes a line for each frame */
  constructor(socket, role, program, log) {
    this.socket = socket;
    this.#role = role;
    this.#program = program;
    this.#log = log;
    socket.on('data', (bytes) => this.#read(bytes));
    socket.on('error', () => {});
    socket.on('end', () => {
      this.#close();
      socket.end();
    });
    socket.on('close', () => this.#close());
  }

  #write(start, frames) {
    this.sent.push(frames);
    this.socket.write(Buffer.concat([start, frames]));
  }

  /** Sends a request or response with these extensions, and the first bytes after it. */
  #shake(lines, extensions) {
    if (extensions !== '') lines.push(`Sec-WebSocket-Extensions: ${extensions}`);
    this.#write(Buffer.from(head(...lines)), this.#program.early);
  }

  request(path) {
    this.#shake([`GET ${path} HTTP/1.1`, ...HANDSHAKE.slice(1)], this.#program.extensions);
  }

  /** Answers the request of a client. */
  respond({ headers }) {
    this.#handshake = null;
    const offered = headers['sec-websocket-extensions'] === undefined ? '' : this.#program.extensions;
    this.#shake(upgradeAnswer(headers['sec-websocket-key']).trim().split('\r\n'), offered);
  }

  /** @param {() => Promise<void>} rest waits until everything is at rest */
  async perform(ops, rest) {
    for (const operation of ops) {
      if (operation.op === 'bytes') await this.#send(operation, rest);
      else this.socket[operation.op]();
    }
  }

  async #send({ bytes, cuts, mode }, rest) {
    const { socket } = this;
    // In a burst, the other end reads several chunks in one turn.
    if (socket instanceof PipeEnd) socket.peer.apart = mode === 'burst';
    for (const piece of cut(bytes, cuts)) {
      if (!socket.writable) return;
      if (piece.length > 0) this.#write(EMPTY, piece);
      if (mode === 'apart') await rest();
    }
  }

  #read(bytes) {
    if (this.#handshake !== null) {
      this.#handshake += bytes.latin1Slice();
      const end = this.#handshake.indexOf(END);
      if (end === -1) return;
      const lines = this.#handshake.slice(0, end).split('\r\n');
      this.#log(lines.filter((line) => /^HTTP|^Sec-WebSocket-Ext/.test(line)).join('; '));
      bytes = Buffer.from(this.#handshake.slice(end + END.length), 'latin1');
      this.#handshake = null;
    }
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (let frame = readFrame(this.#rest); frame !== null; frame = readFrame(this.#rest)) {
      this.#rest = this.#rest.subarray(frame.end);
      this.#onFrame(frame);
    }
  }

  #onFrame({ header, key, payload }) {
    const { answersClose, sides } = this.#program;
    // The option is a client's; a server that masks takes random keys.
    const showsKeys = this.#role === 'server' && sides.client.options.generateMask !== undefined;
    const shownKey = key.length > 0 && showsKeys ? ` key ${key.toString('hex')}` : '';
    this.#log(`${header.toString('hex')}${shownKey} ${describeBytes(payload)}`);
    if (header[0] !== 0x88 || !answersClose || this.#answered || !this.socket.writable) return;
    this.#answered = true;
    this.#write(EMPTY, makeFrame(0x88, payload, this.#role === 'client' ? 0x01020304 : -1));
    if (this.#role === 'server') this.socket.end();
  }

  #close() {
    if (this.#closed) return;
    this.#closed = true;
    // How many bytes of it a kernel has taken is open.
    if (this.#rest.length > 0) this.#log('a part of a frame');
    this.#log('closed');
  }
}

module.exports = { RawPeer };
