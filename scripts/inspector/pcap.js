'use strict';

// Captures of segments that arrive as networks deliver them, and loopback does not: in another
// order, twice, or not at all.

const { rawFrame } = require('./frames');

const REQUEST =
  'GET /made HTTP/1.1\r\nHost: example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
const ANSWER =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n';

const SYN = 0x02;
const ACK = 0x10;
/** The initial sequence numbers: near their end, so that they wrap. */
const START = 0xffffff80;

/** An IPv4 packet without a link layer (LINKTYPE_RAW). */
function packet({ from, seq, flags = ACK, payload = Buffer.alloc(0) }) {
  const bytes = Buffer.alloc(40);
  bytes[0] = 0x45;
  bytes.writeUInt16BE(40 + payload.length, 2);
  bytes[8] = 64;
  bytes[9] = 6;
  const [source, target] = from === 'client' ? [1, 2] : [2, 1];
  bytes.set([10, 0, 0, source, 10, 0, 0, target], 12);
  bytes.writeUInt16BE(from === 'client' ? 50_000 : 7000, 20);
  bytes.writeUInt16BE(from === 'client' ? 7000 : 50_000, 22);
  bytes.writeUInt32BE((START + seq) >>> 0, 24);
  bytes[32] = 0x50;
  bytes[33] = flags;
  bytes.writeUInt16BE(65535, 34);
  return Buffer.concat([bytes, payload]);
}

/** A pcap file with a packet each millisecond. */
function file(packets) {
  const head = Buffer.alloc(24);
  head.writeUInt32LE(0xa1b2c3d4, 0);
  head.writeUInt16LE(2, 4);
  head.writeUInt16LE(4, 6);
  head.writeUInt32LE(65535, 16);
  head.writeUInt32LE(101, 20);
  const records = packets.map((bytes, i) => {
    const record = Buffer.alloc(16);
    record.writeUInt32LE(1_700_000_000, 0);
    record.writeUInt32LE(i * 1000, 4);
    record.writeUInt32LE(bytes.length, 8);
    record.writeUInt32LE(bytes.length, 12);
    return Buffer.concat([record, bytes]);
  });
  return Buffer.concat([head, ...records]);
}

const request = Buffer.from(REQUEST);
const opening = [
  packet({ from: 'client', seq: 0, flags: SYN }),
  packet({ from: 'server', seq: 0, flags: SYN | ACK }),
  packet({ from: 'client', seq: 1, payload: request }),
  packet({ from: 'server', seq: 1, payload: Buffer.from(ANSWER) })
];
const frames = ['one', 'two', 'three'].map((text) => rawFrame(0x81, Buffer.from(text)));
const stream = Buffer.concat(frames);

/** A segment of what the client sends behind its request. */
const piece = (from, to) =>
  packet({ from: 'client', seq: 1 + request.length + from, payload: stream.subarray(from, to) });

const writePcap = {
  /** Three frames in pieces: the last one first, one twice, two that overlap. */
  reordered: () => file([...opening, piece(12, 29), piece(0, 5), piece(3, 12), piece(0, 5)]),
  /** A segment behind the first frame is missing. */
  gap: () => file([...opening, piece(0, 9), piece(15, 29)]),
  /** A capture that began when the connection was open. */
  late: () =>
    file([
      packet({ from: 'server', seq: 900, payload: rawFrame(0x81, Buffer.from('from the server'), { masked: false }) }),
      piece(0, 9)
    ])
};

module.exports = { writePcap };
