'use strict';

const { isUtf8 } = require('./node-modules').buffer;

const { view } = require('./buffers');

/**
 * Validates a piece of text as UTF-8 (RFC 3629), from the beginning of a character on. Returns the
 * index of an incomplete last character, or `end`; -1 if the text is invalid. RFC 6455 section 8.1
 * lets an endpoint fail the connection as soon as an invalid byte arrives, so it is invalid if no
 * further byte can complete it, such as after ED A0 or F4 90.
 */
function completeUntil(bytes, start, end) {
	let from = start;
	// Short pieces are mostly ASCII: this loop saves the call of isUtf8.
	while (from < end && end - from <= 16 && bytes[from] < 128) from++;
	if (from === end) return end;

	const boundary = lastBoundary(bytes, from, end);
	if (boundary === -1) return -1;
	if (boundary > from && !isUtf8(bytes.subarray(from, boundary))) return -1;
	return boundary;
}

/** As `completeUntil`, by the last character alone. */
function lastBoundary(bytes, start, end) {
	let lead = end - 1;
	while (lead > start && lead > end - 4 && (bytes[lead] & 0xc0) === 0x80) lead--;
	const leadByte = bytes[lead];
	const have = end - lead;
	const need = leadByte < 0xc0 ? 1 : leadByte < 0xe0 ? 2 : leadByte < 0xf0 ? 3 : 4;
	// A complete character, or invalid bytes, which isUtf8 refuses.
	if (have >= need) return end;
	return canBegin(leadByte, have > 1 ? bytes[lead + 1] : -1) ? lead : -1;
}

/**
 * Whether a character can begin with a byte from 0xc0 on and a continuation byte, -1 if that has
 * not arrived (RFC 3629 section 4).
 */
function canBegin(leadByte, second) {
	if (leadByte < 0xc2 || leadByte > 0xf4) return false;
	if (second === -1) return true;
	if (leadByte === 0xe0) return second >= 0xa0;
	if (leadByte === 0xed) return second < 0xa0;
	if (leadByte === 0xf0) return second >= 0x90;
	if (leadByte === 0xf4) return second < 0x90;
	return true;
}

/** The text; undefined if it is not UTF-8. */
function decodeText(bytes, start, end, ascii) {
	if (ascii) return bytes.latin1Slice(start, end);
	const text = bytes.utf8Slice(start, end);
	// utf8Slice puts U+FFFD in place of bad bytes, but the text may contain U+FFFD itself. Looking
	// for it is cheaper than making a view for isUtf8.
	return text.includes('\ufffd') && !isUtf8(view(bytes, start, end)) ? undefined : text;
}

/** Where a string ends without the first half of a surrogate pair at its end. */
function endOfPairs(text) {
	return text.length - ((text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800 ? 1 : 0);
}

module.exports = { completeUntil, decodeText, endOfPairs };
