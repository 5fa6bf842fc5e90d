'use strict';

// Encrypted connections of a capture, decrypted by tshark with the keys of a log (SSLKEYLOGFILE).

/** Connections that are decrypted. */
const MAX_CONNECTIONS = 500;
const KEY_LOG = /^(?:#.*\n|\s)*(?:RSA|[A-Z]+(?:_[A-Z\d]+)+) [\da-f]{16,}/;

/** @returns {boolean} whether a text is a key log */
const isKeyLog = (text) => KEY_LOG.test(text);

/** @returns {boolean} whether bytes begin a TLS handshake (RFC 8446 section 5.1) */
const isTls = (bytes) => bytes.length > 2 && bytes[0] === 0x16 && bytes[1] === 3;

/** The arguments of tshark that print the decrypted bytes of these connections. */
function followArguments(connections, keyFile) {
  const ends = connections.slice(0, MAX_CONNECTIONS).map(({ ends }) => [...ends.keys()].join(','));
  return ['-o', `tls.keylog_file:${keyFile}`, '-q', ...ends.flatMap((pair) => ['-z', `follow,tls,yaml,${pair}`])];
}

/** Reads tshark's YAML: a peer is a number, and its data are lines of base64. */
class FollowReader {
  constructor() {
    /** For each connection: its first packet, and the streams of both peers. */
    this.found = [];
    this._packet = null;
  }

  addLine(line) {
    const [, field, value] = /^ {2}[ -] (packet|peer|timestamp): (\S+)$/.exec(line) ?? [];
    if (line === 'packets:') {
      this.found.push({ first: null, streams: [this._stream(), this._stream()] });
    } else if (line === 'peers:') {
      this._packet = null;
    } else if (field === 'packet') {
      this._packet = { packet: Number(value), peer: 0, timestamp: 0 };
      this.found.at(-1).first ??= this._packet.packet;
    } else if (this._packet !== null && field !== undefined) {
      this._packet[field] = Number(value);
      if (field === 'timestamp') this._begin();
    } else if (this._packet !== null && line.startsWith('      ')) {
      const stream = this.found.at(-1).streams[this._packet.peer];
      stream.pieces.push(Buffer.from(line, 'base64'));
      stream.length += stream.pieces.at(-1).length;
    }
  }

  _stream() {
    return { pieces: [], length: 0, chunks: [] };
  }

  _begin() {
    const { packet, peer, timestamp } = this._packet;
    const stream = this.found.at(-1).streams[peer];
    stream.chunks.push({ offset: stream.length, order: packet, time: timestamp * 1000 });
  }
}

/** @returns {{ first: number, streams: object[] }[]} by the number of its first packet, each connection's bytes */
function readFollowed(lines) {
  const reader = new FollowReader();
  for (const line of lines) reader.addLine(line);
  return reader.found
    .filter(({ first }) => first !== null)
    .map(({ first, streams }) => ({
      first,
      streams: streams.map(({ pieces, chunks }) => ({ bytes: Buffer.concat(pieces), chunks, missing: null }))
    }));
}

module.exports = { followArguments, isKeyLog, isTls, readFollowed };
