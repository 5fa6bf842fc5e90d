'use strict';

// How the parts of lib/ hold each other: docs/architecture.md.

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { Decoder } = require('../../lib/codec/decoder');
const { Encoder } = require('../../lib/codec/encoder');
const { acceptDeflate } = require('../../lib/deflate/negotiation');
const { libModules } = require('../support/modules');
const { forEachDecoder } = require('../support/decoders');

const ROOT = path.join(__dirname, '../..');

/** Where private parts of ws, net.Socket, zlib and modules of Node.js are named. */
const NAMING = [
  'lib/ws/internals.js',
  'lib/ws/register.js',
  'lib/sockets/shared-reads.js',
  'lib/sockets/unsent.js',
  'lib/deflate/zlib-handle.js'
];

/** @returns {string[]} the files of lib/ on the stack, the caller first, each run of a file once */
function filesOnStack() {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const { stack } = new Error();
  Error.stackTraceLimit = limit;
  const files = [...stack.matchAll(/[/\\](lib[/\\][\w/\\.-]+\.js):\d+/g)].map(([, file]) => file.replaceAll('\\', '/'));
  return files.filter((file, i) => file !== files[i - 1]);
}

t.test('one file calls all handlers, and no file of lib/ is on the stack twice', async (t) => {
  forEachDecoder(({ Decoder, role, f }) => {
    const seen = new Map();
    const see = (name) => () => seen.set(name, [...(seen.get(name) ?? []), filesOnStack()]);
    const decoder = (options) => new Decoder({ role, ...options });
    const handlers = (...names) => Object.fromEntries(names.map((name) => [name, see(name)]));
    const all = handlers('onMessage', 'onPing', 'onPong', 'onClose', 'onError');

    const few = [f.text('a'), f.binary('b'), f.ping('p'), f.pong('q')];
    const fragments = [f.text('c', { fin: false }), f.continuation('d')];
    const close = f.close(1000, 'bye');
    const many = Buffer.concat([...few, ...few, ...fragments, close]);
    decoder(all).write(Buffer.from(many));
    const ofFrames = { ...all, ...handlers('onFrame'), onMessage: undefined };
    decoder(ofFrames).write(Buffer.from(many));
    decoder(handlers('onFrame')).write(Buffer.from(many));
    for (const options of [all, ofFrames]) {
      const byByte = decoder(options);
      for (const byte of many) byByte.write(Buffer.from([byte]));
    }
    const paused = decoder({ ...ofFrames, onFrame: () => paused.pause() });
    paused.write(Buffer.from(many));
    while (paused.paused) paused.resume();
    decoder(all).write(Buffer.from([0xff, 0xff]));

    t.same([...seen.keys()].sort(), ['onClose', 'onError', 'onFrame', 'onMessage', 'onPing', 'onPong'], 'all called');
    const stacks = [...seen.values()].flat();
    t.same([...new Set(stacks.map(([caller]) => caller))], ['lib/codec/dispatcher.js'], 'the caller');
    const twice = stacks.filter((files) => new Set(files).size !== files.length);
    t.same(twice, [], 'twice');
  });
});

t.test('a message that the thread pool has inflated takes the same way', async (t) => {
  const agreement = acceptDeflate('permessage-deflate', { threadPoolFrom: 0 });
  const stacks = await new Promise((resolve) => {
    const stacks = [];
    const see = () => stacks.push(filesOnStack());
    const decoder = new Decoder({
      role: 'server',
      deflate: agreement,
      onMessage: see,
      onInflated: () => resolve([...stacks, filesOnStack()])
    });
    const writable = { write: (bytes) => decoder.write(bytes) };
    new Encoder({ role: 'client', deflate: agreement, writable }).text('x'.repeat(10_000));
  });
  for (const files of stacks) {
    t.equal(files[0], 'lib/codec/dispatcher.js');
    t.equal(new Set(files).size, files.length, files.join());
  }
  t.equal(stacks.length, 2);
});

t.test('no class of lib/codec extends another, and none uses a private member of another object', async (t) => {
  const wrong = [];
  for (const file of libModules().filter((name) => !NAMING.includes(name))) {
    const code = fs.readFileSync(path.join(ROOT, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    if (file.startsWith('lib/codec/') && /class \w+ extends/.test(code)) wrong.push(`${file}: extends`);
    for (const [, owner, member] of code.matchAll(/([\w)\]]+)\??\.(_\w+)/g)) {
      const declared = new RegExp(`^\\t(get )?${member}\\(|^\\w+\\.prototype\\.${member} =`, 'm').test(code);
      const isOwn = owner === 'this' || declared || code.includes(`this.${member} =`);
      // Node.js documents these for classes of streams.
      if (!isOwn && !['_write', '_writev'].includes(member)) wrong.push(`${file}: ${owner}.${member}`);
    }
  }
  t.same(wrong, []);
});
