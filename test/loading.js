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

t.test('framemask/ws loads no codec before the first frame of a connection', async (t) => {
  const program = `
    const { WebSocketServer } = require('./ws.js');
    new WebSocketServer({ noServer: true });
    console.log(Object.keys(require.cache).filter((file) => /(de|en)coder.js$/.test(file)));`;
  t.equal(execFileSync(process.execPath, ['-e', program], { cwd: path.join(__dirname, '..') }).toString(), '[]\n');
});

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
