'use strict';

const { engine, kernel, nativeError } = require('./lib/engine');
const { createMasking } = require('./lib/masking');

const { mask, unmask } = createMasking(engine);

// Assigned one by one, so that ES modules can import them by name; and writable, so that tests can count calls.
exports.mask = mask;
exports.unmask = unmask;
exports.kernel = kernel;
exports.nativeError = nativeError;
