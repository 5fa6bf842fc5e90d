'use strict';

// pcapng (draft-ietf-opsawg-pcapng) of TCP connections that carry frames. Each begins with a
// handshake, so that Wireshark, and the inspector, take the rest for WebSocket.

const { makeHandshake } = require('./handshake');

const RAW_IP = 101;
/** An IPv4 packet has up to 65,535 bytes. */
const MAX_SEGMENT = 65_000;
const [SYN, ACK, PUSH] = [0x02, 0x10, 0x08];
const ADDRESSES = /^(\d+\.\d+\.\d+\.\d+):(\d+) → (\d+\.\d+\.\d+\.\d+):(\d+)(?: |$)/;
const EMPTY = Buffer.alloc(0);

/** A block: its type, its total length before and after its body. */
function block(type, ...parts) {
  const body = Buffer.concat(parts);
  const bytes = Buffer.alloc(12 + Math.ceil(body.length / 4) * 4);
  bytes.writeUInt32LE(type, 0);
  bytes.writeUInt32LE(bytes.length, 4);
  body.copy(bytes, 8);
  bytes.writeUInt32LE(bytes.length, bytes.length - 4);
  return bytes;
}

const uint32s = (...values) => Buffer.from(Uint32Array.from(values).buffer);

/** The addresses that a capture's connection is called by, or some. */
function endsOf(name, nth) {
  const known = ADDRESSES.exec(name);
  const [, client, clientPort, server, serverPort] = known ?? ['', '10.0.0.1', 10_000 + (nth % 50_000), '10.0.0.2', 80];
  const end = (address, port) => ({ address: address.split('.').map(Number), port: Number(port) & 0xffff, seq: 0 });
  return { client: end(client, clientPort), server: end(server, serverPort) };
}

/** An IPv4 packet (RFC 791) with a TCP segment (RFC 9293), whose checksum is left out. */
function packet(from, to, flags, data) {
  const bytes = Buffer.alloc(40 + data.length);
  bytes.set([0x45, 0, bytes.length >> 8, bytes.length & 0xff, 0, 0, 0x40, 0, 64, 6]);
  bytes.set([...from.address, ...to.address], 12);
  let sum = 0;
  for (let i = 0; i < 20; i += 2) sum += bytes.readUInt16BE(i);
  sum = (sum & 0xffff) + (sum >> 16);
  bytes.writeUInt16BE(~((sum & 0xffff) + (sum >> 16)) & 0xffff, 10);
  bytes.writeUInt16BE(from.port, 20);
  bytes.writeUInt16BE(to.port, 22);
  bytes.writeUInt32BE(from.seq, 24);
  bytes.writeUInt32BE(to.seq, 28);
  bytes.set([0x50, flags, 0xff, 0xff], 32);
  data.copy(bytes, 40);
  from.seq = (from.seq + data.length + (flags & SYN ? 1 : 0)) % 2 ** 32;
  return bytes;
}

class PcapngWriter {
  constructor() {
    this._connections = new Map();
  }

  /** The section, and its interface. */
  begin() {
    const section = block(0x0a0d0d0a, uint32s(0x1a2b3c4d, 1, 0xffffffff, 0xffffffff));
    return Buffer.concat([section, block(1, uint32s(RAW_IP, 0))]);
  }

  /** Yields the packets of bytes that one end sends, after the beginning of a new connection. */
  *send(id, connection, from, bytes, time) {
    if (!this._connections.has(id)) yield* this._open(id, connection, time);
    yield* this._segments(this._connections.get(id), from, bytes, time);
  }

  /** Yields SYN, and a handshake with the extensions that were agreed on. */
  *_open(id, { name, url, extensions }, time) {
    const ends = endsOf(name, id);
    this._connections.set(id, ends);
    yield this._packet(ends.client, ends.server, SYN, EMPTY, time);
    yield this._packet(ends.server, ends.client, SYN | ACK, EMPTY, time);
    const { host, pathname, search } = new URL(url ?? 'ws://10.0.0.2/');
    const heads = makeHandshake(`${pathname}${search}`, host, { client: extensions, server: extensions });
    yield* this._segments(ends, 'client', heads.client, time);
    yield* this._segments(ends, 'server', heads.server, time);
  }

  *_segments({ client, server }, from, bytes, time) {
    const ends = from === 'client' ? [client, server] : [server, client];
    for (let at = 0; at < bytes.length; at += MAX_SEGMENT) {
      yield this._packet(...ends, PUSH | ACK, bytes.subarray(at, at + MAX_SEGMENT), time);
    }
  }

  _packet(from, to, flags, data, time) {
    const bytes = packet(from, to, flags, data);
    const microseconds = Math.round(Math.max(time ?? 0, 0) * 1000);
    return block(6, uint32s(0, microseconds / 2 ** 32, microseconds % 2 ** 32, bytes.length, bytes.length), bytes);
  }
}

module.exports = { PcapngWriter };
