'use strict';

// The opening handshake in the bytes of a connection: where it ends, and what it agreed on.

const { offerDeflate } = require('./framemask');

/** A handshake ends within as many bytes: other requests may come before it. */
const MAX_BEFORE = 1024 * 1024;
const BLANK_LINE = '\r\n\r\n';

/** The key of a request, and its answer (RFC 6455 section 1.3). */
const KEY = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
const ACCEPT = 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=';

/**
 * @returns {{ client: Buffer, server: Buffer }} the handshake of a connection that is exported, or
 *   of the sample
 */
function makeHandshake(target, host, extensions = {}) {
  const head = (first, own, extension) => {
    const lines = [first, 'Connection: Upgrade', 'Upgrade: websocket', own];
    if (extension) lines.push(`Sec-WebSocket-Extensions: ${extension}`);
    return Buffer.from(`${lines.join('\r\n')}${BLANK_LINE}`);
  };
  return {
    client: head(`GET ${target} HTTP/1.1`, `Host: ${host}\r\n${KEY}`, extensions.client),
    server: head('HTTP/1.1 101 Switching Protocols', ACCEPT, extensions.server)
  };
}

/**
 * Finds a head of HTTP that is of an upgrade. What comes before it in its block may be the body of
 * an earlier request.
 */
function findHead(stream, beginning) {
  const text = stream?.bytes.toString('latin1', 0, MAX_BEFORE) ?? '';
  for (let start = 0; ; ) {
    const blank = text.indexOf(BLANK_LINE, start);
    if (blank === -1) return null;
    const end = blank + BLANK_LINE.length;
    const block = text.slice(start, end);
    const head = block.slice(block.startsWith(beginning) ? 0 : block.lastIndexOf(beginning));
    if (head.startsWith(beginning) && /\r\nupgrade:[ \t]*websocket[ \t]*\r/i.test(head)) return { text: head, end };
    start = end;
  }
}

/** @returns {string | undefined} a header's value; the values of several are joined */
function headerOf(head, name) {
  // Only one piece of the pattern matches spaces: three would take a time that grows with their
  // number cubed.
  const values = head?.text.matchAll(new RegExp(`^${name}:(.*)\\r$`, 'gim')) ?? [];
  return Array.from(values, ([, value]) => value.trim()).join(', ') || undefined;
}

/** Removes the bytes of a stream up to the end of its head. */
function cut(stream, head) {
  if (head === null) return stream;
  const chunks = stream.chunks.map((chunk) => ({ ...chunk, offset: Math.max(chunk.offset - head.end, 0) }));
  // Of those that end before the cut, only the last one matters: a frame may begin in it.
  const last = chunks.findLastIndex((chunk) => chunk.offset === 0);
  return { ...stream, bytes: stream.bytes.subarray(head.end), chunks: chunks.slice(last) };
}

/**
 * The agreement of an answer's Sec-WebSocket-Extensions, which the Decoder inflates by.
 * @returns null if messages are not compressed
 */
function agreementOf(header) {
  if (!header?.includes('permessage-deflate')) return null;
  try {
    // All in one thread, so that each verdict is there when its frame is.
    return offerDeflate({ contextTakeover: true, threadPoolFrom: Infinity }).readAnswer(header);
  } catch {
    return null;
  }
}

/** @returns {string | null} the address that a client would connect to */
function urlOf(host, target, scheme = 'ws') {
  const url = `${scheme}://${host}${target}`;
  return /^[\w.:[\]-]+$/.test(host) && target?.startsWith('/') && URL.canParse(url) ? new URL(url).href : null;
}

/**
 * @param streams the bytes of both ends
 * @param {{ client?: string, server?: string }} [addresses] of the ends
 * @returns the same without the handshake, with the deflate of Judge, whether there was a
 *   handshake, and the connection's name and URL
 */
function connectionOf({ client, server }, addresses = {}, scheme = 'ws') {
  const request = findHead(client, 'GET ');
  const answer = findHead(server, 'HTTP/1.1 101');
  const extensions = headerOf(answer, 'Sec-WebSocket-Extensions');
  const target = request?.text.split(' ')[1];
  // The address of a capture cannot lie, as a header can.
  const host = addresses.server ?? headerOf(request, 'Host');
  // Copies: a head's text may hold on to more.
  const headOf = (stream, head) => head && [stream.bytes.subarray(head.end - head.text.length, head.end)];
  return {
    name: `${addresses.client ?? '?'} → ${addresses.server ?? '?'} ${target ?? ''}`.trimEnd(),
    url: urlOf(host, target, scheme),
    extensions,
    heads: [...(headOf(client, request) ?? []), ...(headOf(server, answer) ?? [])],
    client: cut(client, request),
    server: cut(server, answer),
    hasHandshake: request !== null || answer !== null,
    deflate: agreementOf(extensions)
  };
}

module.exports = { connectionOf, makeHandshake, urlOf };
