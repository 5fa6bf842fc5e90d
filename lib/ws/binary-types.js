'use strict';

const { toArrayBuffer } = require('../shared/buffers');

/** A binary message's data as `binaryType` asks for it: 'arraybuffer', 'blob' or 'fragments'. */
function toBinaryType(data, binaryType, fragmentLengths) {
	switch (binaryType) {
		case 'arraybuffer':
			return toArrayBuffer(data);
		case 'blob':
			return new Blob([data]);
		default:
			return toFragments(data, fragmentLengths ?? [data.length]);
	}
}

/** @returns {Buffer[]} the payload of each frame that is not empty */
function toFragments(data, lengths) {
	const fragments = [];
	let end = 0;
	for (const length of lengths) {
		if (length !== 0) fragments.push(data.subarray(end, end + length));
		end += length;
	}
	return fragments;
}

module.exports = { toBinaryType };
