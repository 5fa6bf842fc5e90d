'use strict';

// Captures of real traffic, made by tcpdump, as the page shows them.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { WebSocket, WebSocketServer } = require('ws');
const { installDebian } = require('../../test/support/debian');
const { MISSING } = require('../../inspector/lib/capture');
const { writePcap } = require('./pcap');
const { withScreen } = require('./session');
const { captureWhile, has, whyNot } = require('./tcpdump');

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

const open = (screen, name, buffer) =>
  screen.page.setInputFiles('#files', { name, mimeType: 'application/octet-stream', buffer });

/** Opens a capture of a conversation: 6 frames of the client, 5 of the server. */
async function realTraffic(screen, options) {
  const port = 20_000 + (process.pid % 10_000);
  await open(screen, 'real.pcap', await captureWhile(port, () => converse(port, options)));
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
  const states = await screen.page.locator('#list .row:visible').evaluateAll((all) => all.map((row) => row.className));
  assert.ok(
    states.every((state) => !/bad|unread|incomplete/.test(state)),
    states.join()
  );
}

async function compressedTraffic(screen) {
  await realTraffic(screen, { perMessageDeflate: { threshold: 0 }, target: '/compressed' });
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

/** A capture that is cleared while tshark reads it leaves no trace, and a program can send records at once. */
async function clearedWhileRead(screen, inspector) {
  const live = new WebSocket(inspector.liveUrl);
  await once(live, 'open');
  const record = { connection: 'x', from: 'client', role: 'client', direction: 'sent', opcode: 1, rsv: 0, length: 1 };
  const send = (sequence) => live.send(JSON.stringify({ records: [{ ...record, sequence }] }));
  const opened = inspector.open({ data: writePcap.reordered(), name: 'reordered.pcap' });
  await screen.waitForFrames('reordered.pcap: 0 frames');
  inspector.clear();
  send(1);
  await screen.waitForFrames('live: 1 frames');
  await opened;
  send(2);
  await screen.waitForFrames('live: 2 frames');
  live.close();
}

async function withoutTshark(screen) {
  const before = process.env.TSHARK;
  process.env.TSHARK = '/nowhere/tshark';
  try {
    await open(screen, 'a.pcap', writePcap.reordered());
    await screen.page.waitForSelector('#error:visible');
    assert.equal(await screen.text('#error'), MISSING);
    await screen.screenshot('no-tshark');
  } finally {
    if (before === undefined) delete process.env.TSHARK;
    else process.env.TSHARK = before;
  }
}

async function run(browser, { install, progress }) {
  if (install) {
    // tshark's package would ask who may capture.
    process.env.DEBIAN_FRONTEND ??= 'noninteractive';
    installDebian(['tshark', 'tcpdump'], progress);
  }
  await withScreen(browser, withoutTshark);
  if (!has(process.env.TSHARK ?? 'tshark')) return 'without tshark only: run with --install';
  await withScreen(browser, madeTraffic);
  await withScreen(browser, clearedWhileRead);
  const reason = whyNot();
  if (reason !== null) return `without real traffic: ${reason}`;
  await withScreen(browser, async (screen) => {
    await realTraffic(screen, { perMessageDeflate: false, target: '/plain' });
    await screen.screenshot('capture');
  });
  await withScreen(browser, compressedTraffic);
  return 'real traffic, plain and compressed';
}

module.exports = [{ name: 'captures', run }];
