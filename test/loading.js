'use strict';

// What `require('framemask')` and `require('framemask/ws')` load. Each test file is a process of
// its own.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const vm = require('node:vm');
const t = require('tap');
const framemask = require('..');

const FOLDERS = ['codec', 'connection', 'deflate', 'sockets'].map((name) => path.join(__dirname, '../lib', name));
const loaded = () => Object.keys(require.cache).filter((file) => FOLDERS.some((folder) => file.startsWith(folder)));

t.test('masking alone loads no codec', async (t) => {
  framemask.mask(Buffer.alloc(4), Buffer.alloc(4), Buffer.alloc(4), 0, 4);
  t.same(loaded(), []);
});

t.test('a codec without compression loads nothing of lib/deflate, which would load zlib', async (t) => {
  const program = `
    const { Decoder, Encoder } = require('./index.js');
    new Decoder({ role: 'server', onPart() {}, onMessage() {} });
    new Encoder({ role: 'server' });
    console.log(Object.keys(require.cache).filter((file) => /[/\\\\]deflate[/\\\\]/.test(file)).length);`;
  const options = { cwd: path.join(__dirname, '..'), encoding: 'utf8' };
  t.equal(execFileSync(process.execPath, ['-e', program], options), '0\n');
});

const MAKERS = {
  'nothing yet': ['', false, false],
  'a server': ['new WebSocketServer({ noServer: true })', true, false],
  'a server with compression': ['new WebSocketServer({ noServer: true, perMessageDeflate: true })', true, true],
  'a client': ["new WebSocket('ws://127.0.0.1:1').on('error', () => {})", true, true],
  'a client without compression': [
    "new WebSocket('ws://127.0.0.1:1', { perMessageDeflate: false }).on('error', () => {})",
    true,
    false
  ]
};

for (const [title, [code, codec, compression]] of Object.entries(MAKERS)) {
  t.test(`framemask/ws loads what its connections need, and no more: ${title}`, async (t) => {
    const program = `
      const { WebSocket, WebSocketServer } = require('./ws.js');
      ${code};
      const files = Object.keys(require.cache);
      console.log(['encoder.js', 'send-queue.js'].map((name) => files.some((file) => file.endsWith(name))).join());`;
    const options = { cwd: path.join(__dirname, '..'), encoding: 'utf8' };
    t.equal(execFileSync(process.execPath, ['-e', program], options), `${codec},${compression}\n`);
  });
}

t.test('each export can be replaced before it is loaded, and is an ordinary property then', async (t) => {
  const names = Object.keys(framemask);
  t.equal(names.length, 25);
  const replaced = () => 'replaced';
  framemask.prepare = replaced;
  t.equal(framemask.prepare, replaced);
  t.same(loaded(), []);
  for (const name of names) {
    const value = framemask[name];
    t.not(value, undefined, name);
    t.same(Object.getOwnPropertyDescriptor(framemask, name), {
      value,
      writable: true,
      enumerable: true,
      configurable: true
    });
  }
  t.same(Object.keys({ ...framemask }), names);
});

// Jest's automatic mocks skip getters, unless `__esModule` is set. Vitest evaluates an inlined file
// with a Proxy for `exports`, which misses properties that are defined.
t.test('test runners see each export', async (t) => {
  const names = Object.keys(framemask);
  t.same(
    Object.getOwnPropertyNames(framemask).filter((name) => !names.includes(name)),
    ['__esModule', 'default']
  );
  t.equal(framemask.__esModule, true);
  t.equal(framemask.default, framemask);

  const file = path.join(__dirname, '../index.js');
  const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];
  const module = { exports: null };
  const inlined = vm.compileFunction(fs.readFileSync(file, 'utf8'), parameters, { filename: file });
  inlined(new Proxy({}, {}), createRequire(file), module, file, path.dirname(file));
  t.same(Object.keys(module.exports), names);

  const getters = Object.entries(Object.getOwnPropertyDescriptors(require('../ws.js'))).filter(([, { get }]) => get);
  t.same(getters, []);
});
