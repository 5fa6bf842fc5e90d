'use strict';

// formatFrameId and parseFrameId: UUIDs as text (RFC 9562 section 4) and as bytes.

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const vm = require('node:vm');
const t = require('tap');
const { formatFrameId, frameId, parseFrameId } = require('../lib/frame-id');
const { assertBytes, forEachCase } = require('./support/cases');
const { loadWithKnownEntropy } = require('./support/known-entropy');

/** A UUID by other means than in lib/frame-id.js. */
function plainFormat(bytes) {
  return Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

t.test('RFC 9562, 4: each byte in each place is formatted as hex and parsed from it', (t) => {
  for (let byte = 0; byte < 256; byte++) {
    for (let at = 0; at < 16; at++) {
      const bytes = Buffer.alloc(16, 0xff - byte);
      bytes[at] = byte;
      const id = formatFrameId(bytes);
      const back = parseFrameId(id);
      assert.equal(id, plainFormat(bytes), `byte ${byte} at ${at}`);
      assertBytes(back, bytes, `parsed from ${id}`);
      assertBytes(parseFrameId(id.toUpperCase()), bytes, `parsed from ${id.toUpperCase()}`);
    }
  }
  t.equal(formatFrameId(new Uint8Array(16)), '00000000-0000-0000-0000-000000000000');
  t.equal(formatFrameId(new Uint8Array(16).fill(255)), 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  // RFC 9562, appendix A.6.
  t.equal(formatFrameId(parseFrameId('017F22E2-79B0-7CC3-98C4-DC0C0C07398F')), '017f22e2-79b0-7cc3-98c4-dc0c0c07398f');
  t.end();
});

t.test('either function may be called first', (t) => {
  const bytes = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
  const id = '00010203-0405-0607-0809-0a0b0c0d0e0f';
  t.equal(loadWithKnownEntropy(t).formatFrameId(bytes), id);
  t.same(loadWithKnownEntropy(t).parseFrameId(id), bytes);
  t.end();
});

t.test('both take an offset', (t) => {
  const bytes = crypto.randomBytes(40);
  for (let offset = 0; offset <= 24; offset++) {
    assert.equal(formatFrameId(bytes, offset), plainFormat(bytes.subarray(offset, offset + 16)), `from ${offset} on`);
    const target = new Uint8Array(40).fill(0xa5);
    assert.equal(parseFrameId(formatFrameId(bytes, offset), target, offset), target, `to ${offset}`);
    const expected = Buffer.alloc(40, 0xa5);
    bytes.copy(expected, offset, offset, offset + 16);
    assertBytes(target, expected, `the target, to ${offset}`);
  }
  const target = Buffer.alloc(16);
  t.equal(parseFrameId(formatFrameId(bytes), target), target);
  t.equal(parseFrameId(formatFrameId(bytes), target, undefined), target);
  t.same(target, bytes.subarray(0, 16));
  t.end();
});

t.test('without a target, parseFrameId makes a Buffer with memory of its own', (t) => {
  const bytes = parseFrameId(frameId());
  t.ok(Buffer.isBuffer(bytes));
  t.equal(bytes.length, 16);
  t.equal(bytes.buffer.byteLength, 16);
  t.end();
});

t.test('both take arrays of another realm and of shared memory', (t) => {
  const foreign = vm.runInNewContext('new Uint8Array(20)');
  t.notOk(foreign instanceof Uint8Array);
  const id = frameId();
  t.equal(parseFrameId(id, foreign, 2), foreign);
  t.equal(formatFrameId(foreign, 2), id);
  const shared = new Uint8Array(new SharedArrayBuffer(16));
  t.equal(formatFrameId(parseFrameId(id, shared)), id);
  t.end();
});

t.test('parseFrameId takes strings that V8 keeps in parts, as slices, or in two bytes for each character', (t) => {
  const id = '0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d';
  const bytes = Buffer.from(id.replaceAll('-', ''), 'hex');
  t.same(parseFrameId(id.slice(0, 20) + id.slice(20)), bytes);
  t.same(parseFrameId(`<<${id}>>`.slice(2, 38)), bytes);
  t.same(parseFrameId(`\u20ac${id}\u20ac`.slice(1, 37)), bytes);
  t.end();
});

t.test('both refuse arguments of a wrong type', (t) => {
  const wrong = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
  const id = frameId();
  const faked = Object.setPrototypeOf({ length: 16 }, Uint8Array.prototype);
  forEachCase([undefined, null, id, 16, {}, [], new Array(16).fill(0), new ArrayBuffer(16), faked], (bytes) => {
    const message = /"bytes" argument must be a Buffer or Uint8Array/;
    assert.throws(() => formatFrameId(bytes), { ...wrong, message }, 'formatFrameId');
    if (bytes === undefined) return;
    assert.throws(() => parseFrameId(id, bytes), { ...wrong, message: /"target" argument/ }, 'parseFrameId');
  });
  forEachCase([Int8Array, Uint8ClampedArray, Uint16Array, Uint32Array, Float64Array, BigUint64Array], (Type) => {
    const message = new RegExp(`was an instance of ${Type.name}`);
    assert.throws(() => formatFrameId(new Type(16)), { ...wrong, message });
  });
  t.throws(() => formatFrameId(new DataView(new ArrayBuffer(16))), wrong);
  t.throws(
    () => parseFrameId(id, undefined, 4),
    { ...wrong, message: /"target" argument/ },
    'an offset without a target'
  );
  forEachCase([null, '0', true, 0n, {}, []], (offset) => {
    const error = { ...wrong, message: /"offset" argument/ };
    assert.throws(() => formatFrameId(Buffer.alloc(32), offset), error, 'formatFrameId');
    assert.throws(() => parseFrameId(id, Buffer.alloc(32), offset), error, 'parseFrameId');
  });
  forEachCase([undefined, null, 36, {}, [id], Buffer.from(id), Object(id), Symbol(id)], (string) => {
    assert.throws(() => parseFrameId(string), { ...wrong, message: /"string" argument must be a string/ });
  });
  t.end();
});

t.test('both refuse less than 16 bytes, and offsets out of range', (t) => {
  const wrong = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };
  const id = frameId();
  forEachCase([0, 1, 15], (length) => {
    const message = new RegExp(`must be 16 bytes or longer, but was ${length} bytes`);
    assert.throws(() => formatFrameId(Buffer.alloc(length)), { ...wrong, message }, 'formatFrameId');
    assert.throws(() => parseFrameId(id, Buffer.alloc(length)), { ...wrong, message }, 'parseFrameId');
  });
  const detached = new Uint8Array(16);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  t.throws(() => formatFrameId(detached), { ...wrong, message: /"bytes" argument.*0 bytes/ });

  const bytes = Buffer.alloc(20, 0xa5);
  forEachCase([-1, 5, 20, 0.5, 2 ** 32, 2 ** 53, -(2 ** 31), Number.NaN, Number.POSITIVE_INFINITY], (offset) => {
    const message = `The "offset" argument must be an integer from 0 to 4, but was ${offset}`;
    assert.throws(() => formatFrameId(bytes, offset), { ...wrong, message }, 'formatFrameId');
    assert.throws(() => parseFrameId(id, bytes, offset), { ...wrong, message }, 'parseFrameId');
  });
  t.same(bytes, Buffer.alloc(20, 0xa5));
  t.end();
});

t.test('parseFrameId refuses any other string, and does not change the target', (t) => {
  const id = '0a1b2c3d-4e5f-4a6b-8c7d-9e8f7a6b5c4d';
  const target = Buffer.alloc(16, 0xa5);
  const refused = (string) => {
    try {
      parseFrameId(string, target);
    } catch (error) {
      return error instanceof RangeError && error.code === 'ERR_OUT_OF_RANGE' && /"string"/.test(error.message);
    }
    return false;
  };
  const others = [
    '',
    id.slice(1),
    `${id}0`,
    ` ${id}`,
    `${id}\n`,
    `{${id}}`,
    `urn:uuid:${id}`,
    id.replaceAll('-', ''),
    `0a1b2c3d4-e5f-4a6b-8c7d-9e8f7a6b5c4d`,
    id.replaceAll('-', '\u2010')
  ];
  forEachCase(others, (string) => assert.ok(refused(string)));

  // Each character in each place; some would pass if their code were cut to 7 or 8 bits.
  const wide = [0x80, 0xad, 0xb0, 0xe1, 0xff, 0x12d, 0x130, 0x161, 0x2d00, 0x3030, 0xff10, 0xff41, 0xd800, 0xdc30];
  const codes = [...Array(128).keys(), ...wide];
  for (let at = 0; at < 36; at++) {
    for (const code of codes) {
      const character = String.fromCharCode(code);
      const good = id[at] === '-' ? character === '-' : /^[0-9A-Fa-f]$/.test(character);
      const string = id.slice(0, at) + character + id.slice(at + 1);
      assert.equal(refused(string), !good, `whether ${JSON.stringify(string)} was refused`);
      if (good) target.fill(0xa5);
    }
  }
  t.same(target, Buffer.alloc(16, 0xa5));
  t.end();
});

t.test('the error shows the first 40 characters of the string', (t) => {
  t.throws(() => parseFrameId('no id'), {
    message: `The "string" argument must be a UUID: 32 hex digits in groups of 8-4-4-4-12, but was 'no id'`
  });
  t.throws(() => parseFrameId('x'.repeat(1e6)), { message: /but was 'x{40}'\.\.\. \(1000000 characters\)$/ });
  t.end();
});
