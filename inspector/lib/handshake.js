'use strict';

// The opening handshake in the bytes of a connection: where it ends, and what it agreed on.

const { offerDeflate } = require('./framemask');

/** A handshake ends within as many bytes: other requests may come before it. */
const MAX_BEFORE = 1024 * 1024;
const BLANK_LINE = '\r\n\r\n';

/**
 * Finds a head of HTTP that is of an upgrade. What comes before it in its block may be the body of an
 * earlier request.
 *
 * @param {Buffer} bytes
 * @param {string} beginning of the head
 * @returns {{ text: string, end: number } | null}
 */
function findHead(bytes, beginning) {
  const text = bytes.latin1Slice(0, Math.min(MAX_BEFORE, bytes.length));
  for (let start = 0; ; ) {
    const blank = text.indexOf(BLANK_LINE, start);
    if (blank === -1) return null;
    const end = blank + BLANK_LINE.length;
    const block = text.slice(start, end);
    const at = block.startsWith(beginning) ? 0 : block.lastIndexOf(beginning);
    if (at !== -1 && /\r\nupgrade:[ \t]*websocket[ \t]*\r/i.test(block.slice(at)))
      return { text: block.slice(at), end };
    start = end;
  }
}

/** @returns {string | undefined} a header's value; the values of several are joined */
function headerOf(head, name) {
  // Only one piece of the pattern matches spaces: three would take a time that grows with their number cubed.
  const pattern = new RegExp(`^${name}:(.*)\\r$`, 'gim');
  const values = [...head.matchAll(pattern)].map(([, value]) => value.trim());
  return values.length === 0 ? undefined : values.join(', ');
}

/** Removes a stream's bytes before `offset`. */
function cut(stream, offset) {
  if (stream === undefined || offset === 0) return stream;
  const chunks = stream.chunks.map((chunk) => ({ ...chunk, offset: Math.max(chunk.offset - offset, 0) }));
  // Of those that end before the cut, only the last one matters: a frame may begin in it.
  const last = chunks.findLastIndex((chunk) => chunk.offset === 0);
  return { ...stream, bytes: stream.bytes.subarray(offset), chunks: chunks.slice(Math.max(last, 0)) };
}

/**
 * The agreement of an answer's Sec-WebSocket-Extensions, which the Decoder inflates by.
 *
 * @returns {import('framemask').NegotiatedDeflate | null} null if messages are not compressed
 */
function agreementOf(header) {
  if (header === undefined || !/permessage-deflate/.test(header)) return null;
  try {
    // All in one thread, so that each verdict is there when its frame is.
    const offer = offerDeflate({ contextTakeover: true, threadPoolFrom: Infinity });
    return offer.readAnswer(header);
  } catch {
    return null;
  }
}

/** The bytes of a head, without those around it: its text may hold on to more. */
const headBytes = (stream, head) => head && stream.bytes.subarray(head.end - head.text.length, head.end);

/** @returns {string | null} the address that a client would connect to */
function urlOf(host, target, scheme = 'ws') {
  const url = `${scheme}://${host}${target}`;
  return /^[\w.:[\]-]+$/.test(host) && target?.startsWith('/') && URL.canParse(url) ? new URL(url).href : null;
}

/**
 * @param {{ client?: import('./streams').Stream, server?: import('./streams').Stream }} streams what
 *   both ends have sent
 * @param {{ client?: string, server?: string }} [addresses] of the ends
 * @param {'ws' | 'wss'} [scheme]
 * @returns the same without the handshake, with the settings of Judge, the key of the handshake,
 *   whether there was one, and the connection's name and URL
 */
function connectionOf({ client, server }, addresses = {}, scheme = 'ws') {
  const request = client === undefined ? null : findHead(client.bytes, 'GET ');
  const answer = server === undefined ? null : findHead(server.bytes, 'HTTP/1.1 101');
  const extensions = answer === null ? undefined : headerOf(answer.text, 'Sec-WebSocket-Extensions');
  const target = request === null ? null : request.text.split(' ')[1];
  // The address of a capture cannot lie, as a header can.
  const host = addresses.server ?? (request === null ? undefined : headerOf(request.text, 'Host'));
  return {
    name: `${addresses.client ?? '?'} → ${addresses.server ?? '?'}${target === null ? '' : ` ${target}`}`,
    url: urlOf(host, target, scheme),
    extensions,
    heads: [headBytes(client, request), headBytes(server, answer)].filter((head) => head !== null),
    client: cut(client, request?.end ?? 0),
    server: cut(server, answer?.end ?? 0),
    key: request === null ? null : (headerOf(request.text, 'Sec-WebSocket-Key') ?? null),
    hasHandshake: request !== null || answer !== null,
    settings: { deflate: agreementOf(extensions) }
  };
}

module.exports = { connectionOf, urlOf };
