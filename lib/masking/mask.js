'use strict';

const { checkBytes, checkWhole, lengthOf } = require('../shared/buffers');
const { advanceKey } = require('./fallback');

/**
 * @returns {number} the key from that phase on, its first byte in the lowest eight bits
 * @throws {TypeError | RangeError} if either is not valid
 */
function readKey(key, phase) {
	checkBytes('key', key);
	if (lengthOf(key) !== 4) refuseKey(key);
	const number = (key[0] | (key[1] << 8) | (key[2] << 16) | (key[3] << 24)) >>> 0;
	return phase === undefined ? number : readPhase(number, phase);
}

function refuseKey(key) {
	throw require('../shared/errors').outOfRange('key', '4 bytes long', `${lengthOf(key)} bytes long`);
}

function readPhase(key, phase) {
	checkWhole('phase', phase, 0, 3);
	return advanceKey(key, phase);
}

/** Creates `mask` and `unmask`, which index.d.ts documents, over a backend. */
function createMasking({ maskInto, maskInPlace }) {
	function mask(source, key, output, offset, length, phase) {
		checkBytes('source', source);
		checkBytes('output', output);
		const keyWord = readKey(key, phase);
		checkWhole('length', length, 0, Math.min(lengthOf(source), lengthOf(output)));
		checkWhole('offset', offset, 0, lengthOf(output) - length);
		maskInto(source, 0, output, offset, length, keyWord);
		return phase === undefined ? length & 3 : (phase + length) & 3;
	}

	function unmask(buffer, key, phase) {
		checkBytes('buffer', buffer);
		const keyWord = readKey(key, phase);
		const length = lengthOf(buffer);
		maskInPlace(buffer, 0, length, keyWord);
		return phase === undefined ? length & 3 : (phase + length) & 3;
	}

	return { mask, unmask };
}

module.exports = { createMasking };
