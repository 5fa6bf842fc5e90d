'use strict';

const assert = require('node:assert');

const KEY = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);

/** Masks and unmasks enough bytes for each kernel's vectors, at an odd address. */
function checkMasking({ mask, unmask }) {
  const source = Buffer.from(Array.from({ length: 1021 }, (_, i) => i & 255)).subarray(1);
  const output = Buffer.alloc(source.length);
  mask(source, KEY, output, 0, source.length);
  assert.deepStrictEqual(output, Buffer.from(source.map((byte, i) => byte ^ KEY[i & 3])));
  unmask(output, KEY);
  assert.deepStrictEqual(output, source);
}

/** Sends messages as a client, and receives them as a server. */
function checkCodec({ Decoder, Encoder }) {
  const encoder = new Encoder({ role: 'client' });
  encoder.text('grüße');
  encoder.binary(Buffer.alloc(300, 7));
  encoder.close(1000, 'bye');
  const received = [];
  const decoder = new Decoder({
    role: 'server',
    onMessage: (data, isBinary) => received.push(isBinary ? data.length : data),
    onClose: (code, reason) => received.push(code, reason)
  });
  for (const bytes of encoder.take()) decoder.write(bytes);
  assert.deepStrictEqual(received, ['grüße', 300, 1000, 'bye']);
}

/**
 * Checks the exports of the package and prints the kernel as JSON.
 *
 * @param {typeof import('framemask')} framemask
 */
function check(framemask) {
  checkMasking(framemask);
  checkCodec(framemask);
  const { frameId, formatFrameId, kernel, nativeError, parseFrameId } = framemask;
  const id = frameId({ version: 7 });
  assert.strictEqual(formatFrameId(parseFrameId(id)), id);
  assert.strictEqual(nativeError, null);
  assert.notStrictEqual(kernel, 'js');
  console.log(JSON.stringify({ kernel }));
}

module.exports = { check };
