'use strict';

// Handshakes over HTTP/1.1, as ws, node:http and lib/handshake.js write and read them, and their
// counterparts over HTTP/2 (RFC 8441 section 5).

/** Fields of HTTP/1.1 that HTTP/2 forbids (RFC 9113 section 8.2.2), or RFC 8441 leaves out. */
const LEFT_OUT = new Set([
	'connection',
	'host',
	'http2-settings',
	'keep-alive',
	'proxy-connection',
	'sec-websocket-accept',
	'sec-websocket-key',
	'transfer-encoding',
	'upgrade'
]);

/**
 * Reads a head of HTTP/1.1 that this process has written.
 *
 * @returns {{ start: string[], headers: Record<string, string | string[]>, body: Buffer } | null}
 *   the words of its first line, its fields by their names in lower case; null if it is not
 *   complete
 */
function readHead(bytes) {
	const end = bytes.indexOf('\r\n\r\n');
	if (end === -1) return null;
	const [first, ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
	// Without a prototype: a field may be called constructor.
	const headers = Object.create(null);
	for (const line of lines) {
		const colon = line.indexOf(':');
		const name = line.slice(0, colon).trim().toLowerCase();
		const value = trimBlanks(line.slice(colon + 1));
		headers[name] = name in headers ? [headers[name], value].flat() : value;
	}
	return { start: first.split(' '), headers, body: bytes.subarray(end + 4) };
}

/** Not trim(): in bytes as Latin-1, it takes A0, a part of UTF-8, for a space. */
function trimBlanks(text) {
	let start = 0;
	let end = text.length;
	while (isBlank(text[start])) start++;
	while (end > start && isBlank(text[end - 1])) end--;
	return text.slice(start, end);
}

const isBlank = (character) => character === ' ' || character === '\t';

/** The fields that HTTP/2 takes. */
function fieldsOf(headers) {
	return Object.fromEntries(Object.entries(headers).filter(([name]) => !LEFT_OUT.has(name) && name[0] !== ':'));
}

function writeHead(first, headers) {
	const lines = [first];
	for (const [name, value] of Object.entries(headers)) {
		for (const one of [value].flat()) lines.push(`${name}: ${one}`);
	}
	return `${lines.join('\r\n')}\r\n\r\n`;
}

module.exports = { fieldsOf, readHead, writeHead };
