'use strict';

const { isUtf8 } = require('../shared/node-modules').buffer;

const { FrameError } = require('../shared/errors');
const { isSendableCloseCode } = require('../shared/protocol');

/**
 * A Close frame is empty, or has a status code of two bytes, and UTF-8 after it (RFC 6455 section
 * 5.5.1).
 *
 * @param {boolean} validates whether the reason must be UTF-8
 * @returns {FrameError | null} the rule that the payload of a Close frame breaks
 */
function findCloseError(payload, validates) {
	if (payload.length === 0) return null;
	if (payload.length === 1) return new FrameError('CLOSE_LENGTH', 1002, 'A Close frame has a payload of one byte');
	const code = payload.readUInt16BE(0);
	if (!isSendableCloseCode(code)) {
		const error = new FrameError('CLOSE_CODE', 1002, `A Close frame has the code ${code}`);
		error.receivedCode = code;
		return error;
	}
	if (!validates || payload.length === 2 || isUtf8(payload.subarray(2))) return null;
	return new FrameError('UTF8', 1007, 'The reason in a Close frame is not UTF-8');
}

module.exports = { findCloseError };
