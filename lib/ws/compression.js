'use strict';

const { THREAD_POOL_FROM } = require('../deflate/agreement');
const { Deflater } = require('../deflate/deflater');
const { supportsSyncZlib } = require('../deflate/zlib-handle');
const { Buffer } = require('../shared/buffers');
const { warnOfVariable } = require('../shared/errors');

// The contexts of ws's PerMessageDeflate, which negotiates and sets the threshold. ws takes each
// message through zlib's thread pool; here small ones are compressed and inflated at once, to the
// same bytes.

/** Whether framemask compresses, and not ws. Deno, whose handles do not work, may refuse `env`. */
function compressesHere() {
  if (!supportsSyncZlib()) return false;
  const { FRAMEMASK_DEFLATE: wanted = '' } = process.env;
  if (wanted !== '' && wanted !== 'ws') warnOfVariable('FRAMEMASK_DEFLATE', wanted, '"ws"');
  return wanted !== 'ws';
}

/**
 * `compress` of a PerMessageDeflate, by framemask's contexts. ws's Sender calls it for one fragment
 * at a time. A small one is compressed at once, others in the thread pool.
 */
function compressBy(deflater) {
  return (data, fin, callback) => {
    // Of a long string the characters, of which none has less than a byte.
    if (data.length >= THREAD_POOL_FROM) {
      deflater.deflateLater(data, data.length, fin, (deflated) => callback(null, deflated));
      return;
    }
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    callback(null, deflater.deflate(bytes, bytes.length, fin));
  };
}

/**
 * Has framemask compress the messages of a PerMessageDeflate.
 *
 * @param {DeflateDirection} direction
 * @param {() => void} onEnd called when the connection has ended
 */
function attachCompressor(deflate, direction, onEnd, here = compressesHere()) {
  const { cleanup } = deflate;
  const deflater = here ? new Deflater(direction) : null;
  if (here) deflate.compress = compressBy(deflater);
  deflate.cleanup = () => {
    if (here) deflater.end();
    else cleanup.call(deflate);
    onEnd();
  };
}

module.exports = { attachCompressor, compressesHere };
