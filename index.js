'use strict';

const { Decoder } = require('./lib/decoder');
const { Encoder } = require('./lib/encoder');
const { engine, kernel, nativeError } = require('./lib/engine');
const { FrameError } = require('./lib/errors');
const { formatFrameId, frameId, parseFrameId } = require('./lib/frame-id');
const { createMasking } = require('./lib/masking');
const { prepare } = require('./lib/prepared');

const { mask, unmask } = createMasking(engine);

// Assigned one by one, so that ES modules can import them by name; and writable, so that tests can count calls.
exports.mask = mask;
exports.unmask = unmask;
exports.kernel = kernel;
exports.nativeError = nativeError;
exports.Decoder = Decoder;
exports.Encoder = Encoder;
exports.prepare = prepare;
exports.FrameError = FrameError;
exports.frameId = frameId;
exports.formatFrameId = formatFrameId;
exports.parseFrameId = parseFrameId;
