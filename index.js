'use strict';

const { backend, kernel, nativeError } = require('./lib/masking/backend');
const { createMasking } = require('./lib/masking/mask');

const { mask, unmask } = createMasking(backend);

// Assigned one by one, so that ES modules can import them by name; and writable, so that tests can
// count calls.
exports.mask = mask;
exports.unmask = unmask;
exports.kernel = kernel;
exports.nativeError = nativeError;

// The other exports load at their first use: masking alone takes a quarter of the modules.
define('Decoder', () => require('./lib/codec/decoder').Decoder);
define('Encoder', () => require('./lib/codec/encoder').Encoder);
define('prepare', () => require('./lib/codec/prepared').prepare);
define('readInto', () => require('./lib/sockets/read-into').readInto);
define('acceptDeflate', () => require('./lib/deflate/negotiation').acceptDeflate);
define('offerDeflate', () => require('./lib/deflate/negotiation').offerDeflate);
define('acceptUpgrade', () => require('./lib/handshake').acceptUpgrade);
define('refuseUpgrade', () => require('./lib/handshake').refuseUpgrade);
define('offerUpgrade', () => require('./lib/handshake').offerUpgrade);
define('acceptHttp2', () => require('./lib/http2/accept-http2').acceptHttp2);
define('overHttp2', () => require('./lib/http2/over-http2').overHttp2);
define('FrameError', () => require('./lib/shared/errors').FrameError);
define('frameId', () => require('./lib/frame-id').frameId);
define('formatFrameId', () => require('./lib/frame-id').formatFrameId);
define('parseFrameId', () => require('./lib/frame-id').parseFrameId);

/** Defines an export that becomes an ordinary property when it is first read or assigned. */
function define(name, load) {
  const become = (value) => {
    Object.defineProperty(exports, name, { value, writable: true, enumerable: true, configurable: true });
    return value;
  };
  Object.defineProperty(exports, name, {
    get: () => become(load()),
    set: become,
    enumerable: true,
    configurable: true
  });
}
