'use strict';

// Encrypted connections of a capture, decrypted by tshark with the keys of a log (SSLKEYLOGFILE).

const { StreamBuilder } = require('./streams');

/** Connections that are decrypted. */
const MAX_CONNECTIONS = 500;
const KEY_LOG = /^(?:#.*\n|\s)*(?:RSA|[A-Z]+(?:_[A-Z\d]+)+) [\da-f]{16,}/;

/** @returns {boolean} whether a text is a key log */
const isKeyLog = (text) => KEY_LOG.test(text);

/** @returns {boolean} whether bytes begin a TLS handshake (RFC 8446 section 5.1) */
const isTls = (bytes) => bytes.length > 2 && bytes[0] === 0x16 && bytes[1] === 3;

/** The arguments of tshark that print the decrypted bytes of these connections. */
function followArguments(connections, keyFile) {
  const pairs = connections.slice(0, MAX_CONNECTIONS).map(({ ends }) => [...ends.keys()].join(','));
  return ['-o', `tls.keylog_file:${keyFile}`, '-q', ...pairs.flatMap((pair) => ['-z', `follow,tls,yaml,${pair}`])];
}

/**
 * Reads tshark's YAML: a peer is a number, and its data are lines of base64.
 *
 * @returns {{ first: number, streams: object[] }[]} by the number of its first packet, each
 *   connection's bytes
 */
function readFollowed(lines) {
  const found = [];
  let packet = null;
  for (const line of lines) {
    const [, field, value] = /^ {2}[ -] (packet|peer|timestamp): (\S+)$/.exec(line) ?? [];
    if (line === 'packets:') {
      packet = null;
      found.push({ first: null, builders: [new StreamBuilder(), new StreamBuilder()] });
    } else if (field === 'packet') {
      packet = { packet: Number(value) };
      found.at(-1).first ??= packet.packet;
    } else if (field !== undefined && packet !== null) {
      packet[field] = Number(value);
    } else if (packet !== null && line.startsWith('      ')) {
      const bytes = Buffer.from(line, 'base64');
      found.at(-1).builders[packet.peer].add(bytes, packet.packet, packet.timestamp * 1000);
    }
  }
  return found
    .filter(({ first }) => first !== null)
    .map(({ first, builders }) => ({ first, streams: builders.map((builder) => builder.build()) }));
}

module.exports = { followArguments, isKeyLog, isTls, readFollowed };
