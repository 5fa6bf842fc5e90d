'use strict';

const assert = require('node:assert/strict');
const { constants } = require('node:buffer');
const { execFile } = require('node:child_process');
const { readFileSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { MessageChannel } = require('node:worker_threads');
const t = require('tap');
const { collectGarbage } = require('../support/collect-garbage');
const { createCodecBackend } = require('../../lib/codec/backend');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');
const fallback = require('../../lib/masking/fallback');
const { Param, bind, load } = require('../../lib/masking/native');
const buffers = require('../../lib/shared/buffers');
const { assertBytes, forEachCase, testCases } = require('../support/cases');
const { decoderOver } = require('../support/codecs');
const { testDecoders } = require('../support/decoders');
const { BINARY, KEY, TEXT, frame, framesFor, piecesOf } = require('../support/frames');
const { createMaskings } = require('../support/maskings');
const { createNativeDouble } = require('../support/native-double');
const { addon, nativeKernels } = require('../support/natives');
const { TRIES_ALL, titleOf } = require('../support/sample');

// The addon keeps a pointer to its params. Memory that can be transferred would leave it with a
// pointer to freed memory.

const skip = addon === null && 'no addon';

/** Attempts to detach a buffer; which of them exist depends on the runtime. */
const ATTEMPTS = [
  { name: 'structuredClone', detach: (buffer) => structuredClone(buffer, { transfer: [buffer] }) },
  { name: 'transfer', detach: (buffer) => ArrayBuffer.prototype.transfer.call(buffer) },
  { name: 'resize', detach: (buffer) => ArrayBuffer.prototype.resize.call(buffer, 0) },
  {
    name: 'postMessage',
    detach(buffer) {
      const { port1, port2 } = new MessageChannel();
      try {
        port1.postMessage(buffer, [buffer]);
      } finally {
        port1.close();
        port2.close();
      }
    }
  }
];

/** Unmasks the payload of RFC 6455, section 5.7. */
function unmaskExample({ params, unmask }) {
  const payload = Buffer.from('7f9f4d5158', 'hex');
  params[Param.KEY] = 0x3d21fa37;
  params[Param.START] = 0;
  params[Param.LENGTH] = 5;
  unmask(payload);
  return payload.toString();
}

t.test("a kernel's params can't be detached", { skip }, async () => {
  forEachCase(nativeKernels(), ({ native }) => {
    for (const { name, detach } of ATTEMPTS) {
      assert.throws(() => detach(native.params.buffer), name);
      assert.ok(native.params.length > 0, name);
      assert.equal(unmaskExample(native), 'Hello', name);
    }
  });
});

t.test('the addon refuses params that can be detached, and other values', { skip }, async () => {
  const params = [
    undefined,
    null,
    new Float64Array(7),
    new Float64Array(new ArrayBuffer(56, { maxByteLength: 1024 })),
    new Float64Array(new WebAssembly.Memory({ initial: 1 }).buffer, 0, 7),
    new Float64Array(new SharedArrayBuffer(48)),
    new Float64Array(new SharedArrayBuffer(0)),
    new Uint8Array(new SharedArrayBuffer(56)),
    new BigInt64Array(new SharedArrayBuffer(56)),
    new DataView(new SharedArrayBuffer(56)),
    new SharedArrayBuffer(56)
  ];
  forEachCase(params, (value) => {
    assert.throws(() => addon.bind('scalar', value), { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
  });
});

t.test('the addon keeps the memory of params that JavaScript forgets', { skip }, async (t) => {
  const kept = Array.from({ length: 100 }, () => {
    const { unmask, params } = bind(addon, 'scalar');
    return { unmask, params: new WeakRef(params) };
  });
  const functions = kept.map(({ unmask }) => unmask);
  // A WeakRef holds what it refers to until the end of the turn.
  await new Promise(setImmediate);
  collectGarbage();
  t.ok(kept.every(({ params }) => params.deref() !== undefined));
  // Memory that was freed is used again, and no longer says that there are no bytes to unmask.
  const others = Array.from({ length: 100 }, () => new Float64Array(new SharedArrayBuffer(56)).fill(7));
  const payload = Buffer.alloc(64, 1);
  for (const unmask of functions) unmask(payload);
  t.ok(payload.every((byte) => byte === 1));
  t.ok(others.every((other) => other.every((value) => value === 7)));
});

t.test('there are params where the runtime hides SharedArrayBuffer, as Electron does', async (t) => {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, 'SharedArrayBuffer');
  t.teardown(() => Object.defineProperty(globalThis, 'SharedArrayBuffer', descriptor));
  const double = {
    kernels: ['plain'],
    bind(_name, shared) {
      const { mask, unmask, unmaskText, scan } = createNativeDouble(shared);
      return { mask, unmask, unmaskText, scan };
    }
  };
  delete globalThis.SharedArrayBuffer;
  const { native } = load({}, () => addon ?? double);
  Object.defineProperty(globalThis, 'SharedArrayBuffer', descriptor);
  t.equal(Object.prototype.toString.call(native.params.buffer), '[object SharedArrayBuffer]');
  t.equal(unmaskExample(native), 'Hello');
});

// A view may have an own `length`, or be of a class whose `length` is anything. Bytes outside the
// view are neither read nor written, and no other connection notices.

const LENGTHS = [-1, -70_000, 0, 1, 2 ** 31, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, '7', undefined];

/** Views of bytes in the middle of other bytes, which say that they have another length. */
function* liars(bytes, length) {
  class Liar extends Uint8Array {
    get length() {
      return length;
    }
  }
  const memoryOf = () => {
    const memory = new ArrayBuffer(bytes.length + 2000);
    new Uint8Array(memory).fill(0xaa);
    new Uint8Array(memory).set(bytes, 1000);
    return memory;
  };
  const owner = Buffer.from(memoryOf(), 1000, bytes.length);
  Object.defineProperty(owner, 'length', { value: length });
  Object.defineProperty(owner, 'byteOffset', { value: 0 });
  yield { name: `own length ${String(length)}`, view: owner };
  yield { name: `class with length ${String(length)}`, view: new Liar(memoryOf(), 1000, bytes.length) };
}

function assertUntouched(view, size) {
  const all = new Uint8Array(view.buffer);
  assert.ok(
    all.subarray(0, 1000).every((byte) => byte === 0xaa),
    'bytes before the view'
  );
  assert.ok(
    all.subarray(1000 + size).every((byte) => byte === 0xaa),
    'bytes after the view'
  );
}

testCases('mask and unmask', createMaskings(), ({ mask, unmask }) => {
  const bytes = Buffer.from('x'.repeat(500));
  const expected = frame(BINARY, bytes, { key: KEY }).subarray(8);
  for (const length of LENGTHS) {
    forEachCase(liars(bytes, length), ({ view }) => {
      unmask(view, KEY);
      assertUntouched(view, 500);
      assertBytes(new Uint8Array(view.buffer, 1000, 500), expected);
    });
    forEachCase(liars(bytes, length), ({ view }) => {
      const output = Buffer.alloc(500);
      mask(view, KEY, output, 0, 500);
      assertBytes(output, expected);
      mask(bytes, KEY, view, 0, 500);
      assertUntouched(view, 500);
      assert.throws(() => mask(view, KEY, Buffer.alloc(600), 0, 501), { code: 'ERR_OUT_OF_RANGE' });
      assert.throws(() => mask(Buffer.alloc(600), KEY, view, 0, 501), { code: 'ERR_OUT_OF_RANGE' });
    });
    forEachCase(liars(KEY, length), ({ view }) => {
      const copy = Buffer.from(bytes);
      unmask(copy, view);
      assertBytes(copy, expected);
    });
  }
});

testCases('Encoder and prepare', ['server', 'client'], (role) => {
  const other = new Encoder({ role: 'server' });
  for (const size of [3, 500, 20_000, 70_000]) {
    const bytes = Buffer.alloc(size, 'x');
    for (const length of LENGTHS) {
      forEachCase(liars(bytes, length), ({ view }) => {
        const encoder = new Encoder({ role });
        encoder.binary(view);
        const sent = Buffer.concat(encoder.take());
        assert.equal(sent.length, frame(BINARY, bytes, { key: role === 'client' ? KEY : null }).length);
        if (role === 'server') assertBytes(sent, frame(BINARY, bytes));
        if (size < 100) {
          encoder.ping(view);
          encoder.close(1000, view);
          assert.equal(Buffer.concat(encoder.take()).length, 2 * (role === 'client' ? 6 : 2) + 2 * size + 2);
        }
        assertBytes(prepare(view).frame, frame(BINARY, bytes));
        other.text('as ever');
        assertBytes(Buffer.concat(other.take()), frame(TEXT, 'as ever'));
      });
    }
  }
});

testDecoders('Decoder', ({ decodeCut, f, record }) => {
  const frames = [f.text('a'.repeat(200)), f.binary('b'.repeat(300)), f.text('c')];
  // Fragments are copied out of the chunk.
  const fragments = [f.binary('d', { fin: false }), f.continuation('e'.repeat(40))];
  const bytes = Buffer.concat([...frames, ...fragments]);
  const expected = decodeCut(bytes, []);
  for (const length of LENGTHS) {
    forEachCase(liars(bytes, length), ({ view }) => {
      const { decoder, events } = record();
      decoder.write(view);
      assert.deepEqual(events, expected);
      assertUntouched(view, bytes.length);
    });
  }
});

// A message for which there is no memory ends the decoder with MESSAGE_TOO_BIG: nothing is
// dropped silently, and nothing is delivered that lacks bytes.

const TOO_BIG = ['FRAMEMASK_ERR_MESSAGE_TOO_BIG', 1009];

/** Makes allocations of `size` bytes and more fail while `work` runs, as V8 does without memory. */
function withoutMemory(size, work) {
  const { allocUnsafeSlow } = buffers.Buffer;
  buffers.Buffer.allocUnsafeSlow = (length) => {
    if (length >= size) throw new RangeError('Array buffer allocation failed');
    return allocUnsafeSlow(length);
  };
  try {
    work();
  } finally {
    buffers.Buffer.allocUnsafeSlow = allocUnsafeSlow;
  }
}

testDecoders('an allocation that fails', ({ f, record }) => {
  const kinds = {
    'a binary message in pieces': [f.binary(Buffer.alloc(5000))],
    'text in pieces': [f.text('x'.repeat(5000))],
    fragments: f.fragments(BINARY, Array(50).fill(Buffer.alloc(100)))
  };
  forEachCase(kinds, (frames, name) => {
    const bytes = Buffer.concat(frames);
    const errors = [];
    const { decoder, events } = record({ onError: (error) => errors.push(error) });
    withoutMemory(2000, () => {
      for (const piece of piecesOf(bytes, 700)) decoder.write(Buffer.from(piece));
    });
    assert.deepEqual(events, [], 'messages');
    assert.equal(errors.length, 1, 'errors');
    const { message, code, closeCode, cause } = errors[0];
    assert.deepEqual([code, closeCode, cause.message], [...TOO_BIG, 'Array buffer allocation failed']);
    // Of fragments that have not arrived nobody knows the length.
    const size = name === 'fragments' ? '\\d+' : 5000;
    assert.match(message, new RegExp(`^A message of ${size} bytes does not fit in memory$`));
    assert.equal(decoder.closed, true);
  });
});

// From 2 GiB on, an index no longer fits 32 bits with a sign. Each test allocates 2 GiB, so that it
// is skipped where there is little memory.

const SIZE = 2 ** 31 + 64;
const noMemory =
  (os.freemem() < 6 * 2 ** 30 && 'there is little memory') ||
  (constants.MAX_LENGTH < SIZE && 'this platform has no such views');

t.test(titleOf('the JavaScript fallback masks beyond 2 GiB', 'from 1 MiB below'), { skip: noMemory }, async () => {
  const bytes = new Uint8Array(new ArrayBuffer(SIZE));
  assert.equal(fallback.maskInPlace(bytes, SIZE - 200, 200, 0x04030201), true, 'the end alone');
  assert.deepEqual([...bytes.subarray(SIZE - 4)], [1, 2, 3, 4]);
  assert.equal(bytes[SIZE - 201], 0);
  const start = TRIES_ALL ? 0 : SIZE - 2 ** 20;
  fallback.maskInPlace(bytes, start, SIZE - start, 0x04030201);
  assert.deepEqual([...bytes.subarray(SIZE - 4)], [0, 0, 0, 0]);
  assert.deepEqual([...bytes.subarray(2 ** 31 - 400, 2 ** 31 - 396)], [1, 2, 3, 4]);
  assert.deepEqual([...bytes.subarray(start, start + 4)], [1, 2, 3, 4]);
});

t.test('the JavaScript decoder takes a chunk of more than 2 GiB', { skip: noMemory }, async (t) => {
  const JavascriptDecoder = decoderOver(createCodecBackend(null));
  const chunk = Buffer.from(new ArrayBuffer(SIZE));
  const text = framesFor('server').text('x'.repeat(100));
  text.copy(chunk, 0);
  text.copy(chunk, text.length);
  const messages = [];
  const decoder = new JavascriptDecoder({
    role: 'server',
    onMessage(data) {
      messages.push(data.length);
      if (messages.length === 2) decoder.stop();
    }
  });
  decoder.write(chunk);
  t.same(messages, [100, 100]);
});

// Processes that are started from one startup snapshot must not share ids or masking keys.

const run = promisify(execFile);
const ENTRY = path.join(__dirname, '../../index.js');

/** A snapshot is made of one file, so this bundles the modules of lib/. */
function bundle(entry) {
  const modules = new Map();
  const add = (file) => {
    if (modules.has(file)) return;
    const resolve = (_call, name) => {
      const target = require.resolve(path.join(path.dirname(file), name));
      found.push(target);
      return `loadModule(${JSON.stringify(target)})`;
    };
    const found = [];
    modules.set(file, readFileSync(file, 'utf8').replace(/require\('(\.[^']+)'\)/g, resolve));
    found.forEach(add);
  };
  add(entry);
  const sources = [...modules].map(([file, source]) => `${JSON.stringify(file)}: (module, exports) => {${source}\n}`);
  return `const modules = {${sources}};
    const cache = {};
    function loadModule(file) {
      if (file in cache) return cache[file].exports;
      const module = (cache[file] = { exports: {} });
      modules[file](module, module.exports);
      return module.exports;
    }
    const { Encoder, frameId } = loadModule(${JSON.stringify(entry)});`;
}

t.test('processes started from one snapshot share no ids and no masking keys', async (t) => {
  const folder = t.testdir();
  const program = `${bundle(ENTRY)}
    const encoder = new Encoder({ role: 'client' });
    function print(count) {
      for (let i = 0; i < count; i++) {
        encoder.text('');
        console.log(frameId(), frameId({ version: 7 }), Buffer.concat(encoder.take()).toString('hex'));
      }
    }
    print(1);
    require('node:v8').startupSnapshot.setDeserializeMainFunction(() => print(300));`;
  writeFileSync(path.join(folder, 'program.js'), program);
  const env = { ...process.env, FRAMEMASK_KERNEL: 'js', NODE_OPTIONS: '' };
  const blob = path.join(folder, 'snapshot.blob');
  await run(process.execPath, ['--snapshot-blob', blob, '--build-snapshot', 'program.js'], { cwd: folder, env });
  const start = () => run(process.execPath, ['--snapshot-blob', blob, 'main'], { env, maxBuffer: 2 ** 24 });
  const outputs = await Promise.all([start(), start(), start()]);
  const lines = outputs.flatMap(({ stdout }) => stdout.trim().split('\n'));
  t.equal(lines.length, 900);
  const columns = lines.map((line) => line.split(' '));
  for (const [i, what] of ['ids', 'ids of version 7', 'masking keys'].entries()) {
    // Two of 900 random keys are the same once in 10,000 runs, three once in 10^10.
    t.ok(new Set(columns.map((column) => column[i])).size > 897, what);
  }
});
