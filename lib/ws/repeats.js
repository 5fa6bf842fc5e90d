'use strict';

const { Buffer, view } = require('../shared/buffers');
const { loadCodec } = require('./parts');

// A broadcast gives one string, Buffer or list of pieces to many connections in a turn. From the
// second on, all get one frame of it by reference: 0.91 of the time of a frame for each (64 bytes).

/** The message sent last in this turn, whether it is binary, and its frame once it is repeated. */
let given = null;
let isBinary = false;
let frame = null;
let payload = null;

/** Whether the same was sent before in this turn. */
function isRepeated(value, binary) {
	if (value === given && binary === isBinary) return true;
	given = value;
	isBinary = binary;
	frame = null;
	return false;
}

/**
 * @param {boolean} atOnce whether the first is framed so, too
 * @returns {PreparedMessage | null} null the first time. A changed Buffer is framed anew
 */
function preparedIfRepeated(data, binary, atOnce) {
	if (!isRepeated(data, binary) && !atOnce) return null;
	if (frame === null || (typeof data !== 'string' && !payload.equals(data))) {
		const { framedMessage, prepare } = loadCodec();
		frame = prepare(data, { binary });
		const { frame: bytes, length } = framedMessage(frame);
		payload = view(bytes, bytes.length - length, bytes.length);
	}
	return frame;
}

/** The same for a frame of ws's Sender, which nobody changes. @throws {RangeError} for other bytes */
function framedIfRepeated(list) {
	if (!isRepeated(list, true)) return null;
	if (frame === null) {
		const pieces = [Buffer.concat(list.map((piece) => Buffer.from(piece)))];
		frame = { pieces, framed: loadCodec().readFramed(pieces, 0, true) };
	}
	return frame;
}

/** At the end of a turn: a Buffer may be another message in the next. */
function forgetRepeated() {
	given = null;
	frame = null;
	payload = null;
}

module.exports = { forgetRepeated, framedIfRepeated, preparedIfRepeated };
