'use strict';

// The peer in programs of fuzz/ws.js that have one WebSocket only: it makes its handshake by hand,
// writes any bytes, cut anywhere, and logs the frames that it reads.

const { createHash } = require('node:crypto');
const { makeFrame } = require('./values');
const { PipeEnd } = require('./transports');
const { describeBytes } = require('./recorder');

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
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

  #write(head, frames) {
    this.sent.push(frames);
    this.socket.write(Buffer.concat([head, frames]));
  }

  /** Sends the first line of a request or response, headers, and the first bytes after them. */
  #shake(firstLine, extensions, headers) {
    const lines = [firstLine, 'Upgrade: websocket', 'Connection: Upgrade', ...headers];
    if (extensions !== '') lines.push(`Sec-WebSocket-Extensions: ${extensions}`);
    this.#write(Buffer.from(lines.join('\r\n') + END), this.#program.early);
  }

  request(path) {
    const headers = ['Host: localhost', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
    this.#shake(`GET ${path} HTTP/1.1`, this.#program.extensions, headers);
  }

  /** Answers the request of a client. */
  respond(request) {
    const key = /^sec-websocket-key: (.*)\r$/im.exec(request)[1];
    const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64');
    const offered = /^sec-websocket-extensions:/im.test(request) ? this.#program.extensions : '';
    this.#handshake = null;
    this.#shake('HTTP/1.1 101 Switching Protocols', offered, [`Sec-WebSocket-Accept: ${accept}`]);
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
    while (this.#readFrame());
  }

  /** @returns {boolean} whether there was a whole frame */
  #readFrame() {
    const rest = this.#rest;
    if (rest.length < 2) return false;
    const short = rest[1] & 127;
    const size = short < 126 ? 2 : short === 126 ? 4 : 10;
    const start = rest[1] > 127 ? size + 4 : size;
    if (rest.length < start) return false;
    const length = size === 2 ? short : size === 4 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
    if (rest.length < start + length) return false;
    const key = rest.subarray(size, start);
    const payload = Buffer.from(rest.subarray(start, start + length));
    if (key.length > 0) for (let i = 0; i < length; i++) payload[i] ^= key[i & 3];
    this.#rest = rest.subarray(start + length);
    const { answersClose, sides } = this.#program;
    // The option is a client's; a server that masks takes random keys.
    const showsKeys = this.#role === 'server' && sides.client.options.generateMask !== undefined;
    const shownKey = key.length > 0 && showsKeys ? ` key ${key.toString('hex')}` : '';
    this.#log(`${rest.toString('hex', 0, size)}${shownKey} ${describeBytes(payload)}`);
    if (rest[0] !== 0x88 || !answersClose || this.#answered || !this.socket.writable) return true;
    this.#answered = true;
    this.#write(EMPTY, makeFrame(0x88, payload, this.#role === 'client' ? 0x01020304 : -1));
    if (this.#role === 'server') this.socket.end();
    return true;
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
