'use strict';

const { Decoder } = require('./lib/codec/decoder');
const { Encoder } = require('./lib/codec/encoder');
const { acceptDeflate, offerDeflate } = require('./lib/deflate/negotiation');
const { backend, kernel, nativeError } = require('./lib/masking/backend');
const { FrameError } = require('./lib/shared/errors');
const { formatFrameId, frameId, parseFrameId } = require('./lib/frame-id');
const { createMasking } = require('./lib/masking/mask');
const { prepare } = require('./lib/codec/prepared');
const { readInto } = require('./lib/sockets/read-into');

const { mask, unmask } = createMasking(backend);

// Assigned one by one, so that ES modules can import them by name; and writable, so that tests can count calls.
exports.mask = mask;
exports.unmask = unmask;
exports.kernel = kernel;
exports.nativeError = nativeError;
exports.Decoder = Decoder;
exports.Encoder = Encoder;
exports.prepare = prepare;
exports.readInto = readInto;
exports.acceptDeflate = acceptDeflate;
exports.offerDeflate = offerDeflate;
exports.FrameError = FrameError;
exports.frameId = frameId;
exports.formatFrameId = formatFrameId;
exports.parseFrameId = parseFrameId;
