'use strict';

// Captures of real traffic, made by tcpdump, as the page shows them.

const assert = require('node:assert/strict');
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { WebSocket, WebSocketServer } = require('ws');
const { installDebian } = require('../support/debian');
const { MISSING } = require('../../inspector/lib/capture');
const { writePcap } = require('./pcap');
const { withScreen } = require('./session');

const has = (program) => spawnSync(program, ['--version']).error === undefined;

/** An echo server, and a client that talks to it: framemask has no part in this. */
async function converse(port, { perMessageDeflate, target }) {
  const server = new WebSocketServer({ host: '127.0.0.1', port, perMessageDeflate });
  await once(server, 'listening');
  server.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  const client = new WebSocket(`ws://127.0.0.1:${port}${target}`, { perMessageDeflate: perMessageDeflate !== false });
  let answers = 0;
  const answered = new Promise((resolve) => {
    client.on('message', () => {
      if (++answers === 3) resolve();
    });
  });
  await once(client, 'open');
  client.send('Hello from the wire');
  client.send('fragment ', { fin: false });
  client.ping('between');
  await once(client, 'pong');
  client.send('and the rest');
  // More than a segment has.
  client.send(Buffer.alloc(300_000, 'x').toString());
  await answered;
  client.close(1000, 'done');
  await once(client, 'close');
  server.close();
}

/** @returns {Promise<Buffer>} what tcpdump captured of a conversation */
async function capture(folder, options) {
  const file = path.join(folder, 'real.pcap');
  const port = 20_000 + (process.pid % 20_000);
  const tcpdump = spawn('tcpdump', ['-i', 'lo', '-U', '-w', file, '-B', '8192', 'tcp', 'port', String(port)], {
    stdio: ['ignore', 'ignore', 'pipe']
  });
  let said = '';
  await new Promise((resolve, reject) => {
    tcpdump.once('exit', () => reject(new Error(`tcpdump cannot capture: ${said.trim()}`)));
    tcpdump.stderr.on('data', (chunk) => {
      said += chunk;
      if (/listening on/.test(said)) resolve();
    });
  });
  await delay(500);
  await converse(port, options);
  await delay(1000);
  tcpdump.kill('SIGINT');
  await once(tcpdump, 'exit');
  return fs.readFileSync(file);
}

const open = (screen, name, buffer) =>
  screen.page.setInputFiles('#files', { name, mimeType: 'application/octet-stream', buffer });

async function realTraffic(screen, { folder, options }) {
  await open(screen, 'real.pcap', await capture(folder, options));
  // 6 of the client: text, two fragments, a Ping, a text, Close. 5 of the server.
  await screen.waitForFrames('11 frames');
  const rows = await screen.rows();
  const of = (sender) => rows.filter((row) => row.sender.includes(sender)).map(({ opcode }) => opcode);
  assert.deepEqual(of('cli'), ['text', 'text', 'ping', 'continuation', 'text', 'close']);
  assert.deepEqual(of('srv'), ['text', 'pong', 'text', 'text', 'close']);
  assert.ok(rows.every(({ time }) => /^\d+\.\d\d$/.test(time)));
  await screen.select(rows.findIndex(({ opcode }) => opcode === 'continuation'));
  const detail = await screen.detail();
  assert.match(detail, /fragment and the rest/);
  assert.match(detail, new RegExp(`→ 127\\.0\\.0\\.1:\\d+ ${options.target}`));
  const states = await screen.page
    .locator('#list .row:not([hidden])')
    .evaluateAll((all) => all.map((row) => row.className));
  assert.ok(
    states.every((state) => !/bad|unread|incomplete/.test(state)),
    states.join()
  );
}

async function compressedTraffic(screen, context) {
  await realTraffic(screen, context);
  await screen.page.fill('#search', 'from the wire');
  await screen.page.waitForFunction(() => /^\S+ 2 of 11 frames/.test(document.getElementById('status').textContent));
  await screen.select(0);
  const detail = await screen.detail();
  assert.match(detail, /compressed/);
  assert.match(detail, /Inflated, 19 bytes/);
  assert.match(detail, /Hello from the wire/);
  await screen.screenshot('capture-compressed');
}

/** What networks do to segments, which loopback does not. */
async function madeTraffic(screen) {
  const { reordered, gap, late } = writePcap;
  await open(screen, 'reordered.pcap', reordered());
  await screen.waitForFrames('3 frames');
  assert.deepEqual(
    (await screen.rows()).map(({ preview }) => preview),
    ['one', 'two', 'three']
  );
  await open(screen, 'gap.pcap', gap());
  await screen.waitForFrames('1 frames');
  assert.match(await screen.text('#notes'), /bytes of the client are missing behind byte/);
  await open(screen, 'late.pcap', late());
  await screen.waitForFrames('2 frames');
  assert.match(await screen.text('#notes'), /began before the capture/);
}

async function withoutTshark(screen) {
  const before = process.env.TSHARK;
  process.env.TSHARK = '/nowhere/tshark';
  try {
    await open(screen, 'a.pcap', writePcap.reordered());
    await screen.page.waitForSelector('#error:not([hidden])');
    assert.equal(await screen.text('#error'), MISSING);
    await screen.screenshot('no-tshark');
  } finally {
    if (before === undefined) delete process.env.TSHARK;
    else process.env.TSHARK = before;
  }
}

async function run(browser, { install, progress }) {
  if (install) installDebian(['tshark', 'tcpdump'], progress);
  await withScreen(browser, withoutTshark);
  if (!has(process.env.TSHARK ?? 'tshark')) return 'without tshark only: run with --install';
  await withScreen(browser, madeTraffic);
  if (!has('tcpdump') || process.getuid?.() !== 0) return 'without real traffic: tcpdump needs root';
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-capture-'));
  try {
    const plain = { perMessageDeflate: false, target: '/plain' };
    await withScreen(browser, async (screen) => {
      await realTraffic(screen, { folder, options: plain });
      await screen.screenshot('capture');
    });
    const options = { perMessageDeflate: { threshold: 0 }, target: '/compressed' };
    await withScreen(browser, (screen) => compressedTraffic(screen, { folder, options }));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
  return 'real traffic, plain and compressed';
}

module.exports = [{ name: 'captures', run }];
