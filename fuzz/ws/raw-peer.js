'use strict';

// The peer in programs of fuzz/ws.js that have one WebSocket only: it makes its handshake by hand,
// writes any bytes, cut anywhere, and logs the frames that it reads.

const { createHash } = require('node:crypto');
const { makeFrame, parseFrames } = require('./values');
const { PipeEnd } = require('./transports');
const { describeBytes } = require('./recorder');

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const END = '\r\n\r\n';
const EMPTY = Buffer.alloc(0);

class RawPeer {
  /** All frames that it has sent. @type {Buffer[]} */
  sent = [];
  #log;
  #masks;
  #showsKeys;
  #answersClose;
  #rest = Buffer.alloc(0);
  #handshake = '';
  #answered = false;
  #closed = false;

  /**
   * @param {import('node:stream').Duplex} socket
   * @param {object} settings
   * @param {'server' | 'client'} settings.role of this peer
   * @param {(line: string) => void} settings.log takes a line for each frame
   * @param {boolean} settings.answersClose
   * @param {boolean} settings.showsKeys whether masking keys are determined, and logged
   */
  constructor(socket, { role, log, answersClose, showsKeys }) {
    this.socket = socket;
    this.#log = log;
    this.#masks = role === 'client';
    this.#answersClose = answersClose;
    this.#showsKeys = showsKeys;
    socket.on('data', (bytes) => this.#read(bytes));
    socket.on('error', () => {});
    socket.on('end', () => {
      this.#close();
      socket.end();
    });
    socket.on('close', () => this.#close());
  }

  #write(head, frames) {
    this.sent.push(frames);
    this.socket.write(Buffer.concat([head, frames]));
  }

  /** Sends the request of a client, and with it the first bytes behind it. */
  request(path, extensions, early) {
    const extra = extensions === '' ? '' : `Sec-WebSocket-Extensions: ${extensions}\r\n`;
    const head =
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${extra}` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
    this.#write(Buffer.from(head), early);
  }

  /** Answers the request of a client, and sends the first bytes behind it. */
  respond(request, extensions, early) {
    const key = /^sec-websocket-key: (.*)\r$/im.exec(request)[1];
    const accept = createHash('sha1')
      .update(key + GUID)
      .digest('base64');
    const offered = extensions !== '' && /^sec-websocket-extensions:/im.test(request);
    const extra = offered ? `Sec-WebSocket-Extensions: ${extensions}\r\n` : '';
    const head =
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${extra}` +
      `Sec-WebSocket-Accept: ${accept}${END}`;
    this.#handshake = null;
    this.#write(Buffer.from(head), early);
  }

  /**
   * @param {import('./generator').Operation} operation
   * @param {() => Promise<void>} rest waits until everything is at rest
   */
  async act({ op, bytes, cuts, mode }, rest) {
    const { socket } = this;
    if (op === 'end' || op === 'destroy' || op === 'pause' || op === 'resume') {
      socket[op]();
      return;
    }
    // In a burst, the other end reads several chunks in one turn.
    if (socket instanceof PipeEnd) socket.peer.apart = mode === 'burst';
    let from = 0;
    for (const to of [...cuts, bytes.length]) {
      if (!socket.writable) return;
      if (to > from) this.#write(EMPTY, bytes.subarray(from, to));
      from = to;
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
    const frames = parseFrames(this.#rest).filter(({ complete }) => complete);
    this.#rest = this.#rest.subarray(frames.at(-1)?.end ?? 0);
    for (const frame of frames) this.#onFrame(frame);
  }

  #onFrame({ first, header, key, payload }) {
    const shownKey = key.length > 0 && this.#showsKeys ? ` key ${key.toString('hex')}` : '';
    this.#log(`${header.toString('hex')}${shownKey} ${describeBytes(payload)}`);
    if (first !== 0x88 || !this.#answersClose || this.#answered || !this.socket.writable) return;
    this.#answered = true;
    this.#write(EMPTY, makeFrame(first, payload, this.#masks ? 0x01020304 : -1));
    if (!this.#masks) this.socket.end();
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
