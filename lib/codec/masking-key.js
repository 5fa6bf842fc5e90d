'use strict';

const modules = require('../shared/node-modules');
const { beforeSnapshot } = require('../shared/snapshot');

/** Keys per randomFillSync(), which takes about 300 ns for any length: a key then takes 3 ns. */
const KEYS = 1024;

let keys = null;
let used = KEYS;

/**
 * 32 random bits, signed; never 0, which would not mask. "The masking key needs to be
 * unpredictable; thus, the masking key MUST be derived from a strong source of entropy" (RFC 6455
 * section 5.3).
 */
function nextMaskingKey() {
	let key = 0;
	while (key === 0) {
		if (used === KEYS) drawKeys();
		key = keys[used++];
	}
	return key;
}

/** Apart, so that V8 inlines `nextMaskingKey`. */
function drawKeys() {
	if (keys === null) {
		keys = new Int32Array(KEYS);
		beforeSnapshot(forgetKeys);
	}
	modules.crypto.randomFillSync(keys);
	used = 0;
}

function forgetKeys() {
	keys.fill(0);
	used = KEYS;
}

module.exports = { nextMaskingKey };
