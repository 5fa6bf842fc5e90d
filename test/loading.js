'use strict';

// What `require('framemask')` and `require('framemask/ws')` load. Each test file is a process of its own.

const { execFileSync } = require('node:child_process');
const path = require('node:path');
const t = require('tap');
const framemask = require('..');

const FOLDERS = ['codec', 'deflate', 'sockets'].map((name) => path.join(__dirname, '../lib', name));
const loaded = () => Object.keys(require.cache).filter((file) => FOLDERS.some((folder) => file.startsWith(folder)));

t.test('masking alone loads no codec', async (t) => {
  framemask.mask(Buffer.alloc(4), Buffer.alloc(4), Buffer.alloc(4), 0, 4);
  t.same(loaded(), []);
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
  t.equal(names.length, 19);
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
