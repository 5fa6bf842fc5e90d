'use strict';

// Programs that run while the page is open.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { WebSocket } = require('ws');
const { FRAMES, converse, startLive } = require('../support/programs');
const { testScreen } = require('../support/screen');

testScreen('live: the two ends of a conversation, a process each', async (screen, inspector) => {
  const env = { FRAMEMASK_INSPECTOR: inspector.liveUrl, FRAMEMASK_INSPECTOR_PAYLOAD: '8' };
  await converse(env);
  await screen.waitForFrames(`live: ${FRAMES} frames`);
  await screen.unfold();
  await screen.waitForBothEnds(FRAMES);
  const rows = await screen.rows();
  const fragments = rows.filter(({ fold }) => fold !== '').map(({ opcode }) => opcode);
  assert.deepEqual(fragments, ['text', 'ping', 'cont.']);
  const previews = rows.map(({ preview }) => preview);
  for (const text of ['Hello', 'two frag', 'between']) assert.ok(previews.includes(text), previews.join());
  assert.ok(inspector.session.frames.every(({ beginning }) => beginning.length <= 8));
});

testScreen('live: the list follows its end, says how many are new, and is paused', async (screen, inspector) => {
  const { page } = screen;
  const live = new WebSocket(inspector.liveUrl);
  await once(live, 'open');
  const record = { connection: 'x', from: 'client', role: 'client', direction: 'sent', opcode: 1, rsv: 0, length: 1 };
  let sequence = 0;
  const send = (count) => {
    live.send(JSON.stringify({ records: Array.from({ length: count }, () => ({ ...record, sequence: ++sequence })) }));
  };
  const last = async () => (await screen.column('number')).at(-1);
  send(100);
  await screen.waitForFrames('live: 100 frames');
  assert.equal(await last(), '100');
  assert.equal(await screen.text('#open'), '1 of 1 connections open');
  await page.hover('#list');
  await page.mouse.wheel(0, -600);
  await page.locator('#list .row:visible', { hasText: 'client' }).first().waitFor();
  await page.waitForFunction(() => document.getElementById('list').scrollTop < 1800);
  send(10);
  await page.locator('#new:visible', { hasText: '10 new' }).waitFor();
  assert.notEqual(await last(), '110');
  await page.click('#new');
  await page.waitForSelector('#new', { state: 'hidden' });
  assert.equal(await last(), '110');
  await page.click('#pause');
  send(5);
  await page.locator('#pause:visible', { hasText: 'Resume, 5 new' }).waitFor();
  await screen.drawn();
  assert.equal(await last(), '110');
  await page.focus('#list');
  await page.keyboard.press('Space');
  await screen.waitForFrames('live: 115 frames');
  await screen.drawn();
  assert.equal(await last(), '115');
  live.close();
  await page.locator('#open:visible', { hasText: '0 of 1' }).waitFor();
});

testScreen(
  'the command that starts a program is copied, with payloads if they are asked for',
  async (screen, inspector) => {
    const { page } = screen;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    for (const payload of ['', 'FRAMEMASK_INSPECTOR_PAYLOAD=65536 ']) {
      if (payload !== '') await page.check('#live-payload');
      await page.click('#copy-live');
      await page.locator('#copy-live:visible', { hasText: 'Copied' }).waitFor();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${payload}${inspector.liveCommand}`);
    }
  }
);

const TEXTS = ['Καλημέρα 1', 'x'.repeat(3000), 'last'];
/** The characters of a payload that the list shows. */
const PREVIEW = 80;
const OPCODES = { text: 1, close: 8, ping: 9, pong: 10 };

/** The servers of the examples: SIGUSR2 has them send Pings, SIGTERM ends them. */
const SERVERS = {
  'framemask/ws': `
    const { serve, shutDown } = require('./examples/ws');
    const server = serve(0).on('listening', () => console.log(server.address().port));
    process.on('SIGUSR2', () => server.clients.forEach((each) => each.ping()));
    process.on('SIGTERM', () => shutDown(server));`,
  'the codec': `
    const { createEchoServer, shutDown } = require('./examples/echo-server');
    const server = createEchoServer().listen(0, '127.0.0.1', () => console.log(server.address().port));
    process.on('SIGUSR2', () => server.connections.forEach((each) => { each.encoder.ping(); each.flush(); }));
    process.on('SIGTERM', () => shutDown(server));`
};

/** Opens a connection in Chromium. @returns its text frames, as Chromium reports them */
async function connect(page, port) {
  const opened = page.waitForEvent('websocket');
  const isOpen = page.evaluate((url) => {
    const socket = new WebSocket(url);
    globalThis.sockets = [...(globalThis.sockets ?? []), socket];
    return new Promise((resolve) => {
      socket.onopen = resolve;
    });
  }, `ws://127.0.0.1:${port}`);
  const texts = { client: [], server: [] };
  const socket = await opened;
  socket.on('framesent', ({ payload }) => texts.client.push(String(payload)));
  socket.on('framereceived', ({ payload }) => texts.server.push(String(payload)));
  await isOpen;
  return texts;
}

/** Sends TEXTS on each connection, and waits for so many messages on each. */
async function talk(page, answers) {
  await page.evaluate(
    async ([texts, count]) => {
      const heard = globalThis.sockets.map((socket) => {
        let left = count;
        return new Promise((resolve) => {
          socket.onmessage = () => --left || resolve();
        });
      });
      for (const text of texts) for (const socket of globalThis.sockets) socket.send(text);
      await Promise.all(heard);
    },
    [TEXTS, answers]
  );
}

/** The list has the text frames of a connection, as Chromium has sent or received them. */
async function checkTexts(screen, connection, sender, texts, payload) {
  await screen.filter({ opcodes: [OPCODES.text], connection, sender });
  assert.deepEqual(
    (await screen.rows()).map((row) => [row.connection.replace('● ', ''), row.number, row.length, row.preview]),
    texts.map((text, i) => {
      const preview = Buffer.from(text).subarray(0, payload).toString().slice(0, PREVIEW);
      return [`${connection + 1}`, `${i + 1}`, Buffer.byteLength(text).toLocaleString('en'), preview];
    }),
    `the ${sender} of connection ${connection + 1}`
  );
}

/** Waits until the connections are shown by address and path, as open or closed. */
async function checkConnections(screen, port, sign, state) {
  for (const i of [0, 1]) {
    const text = new RegExp(`^${sign} ${i + 1}: \\S+:\\d+ → 127.0.0.1:${port} /${state}$`);
    await screen.page.locator('#connection option', { hasText: text }).waitFor({ state: 'attached' });
  }
}

// The Decoder and the Encoder of the echo server are a connection each, because it gives them no id.
for (const [name, payload, answers, perSocket] of [
  ['framemask/ws', 0, 2 * TEXTS.length, 1],
  ['the codec', 64, TEXTS.length, 2]
]) {
  testScreen(`live: Chromium talks to ${name}, which is shut down`, async (screen, inspector) => {
    const env = { FRAMEMASK_INSPECTOR: inspector.liveUrl, FRAMEMASK_INSPECTOR_PAYLOAD: String(payload) };
    const { child, port } = await startLive(env, '-e', SERVERS[name]);
    // In the same context, the inspector's page would be in the background, where nothing is drawn.
    const page = await screen.page.context().browser().newPage();
    try {
      const connections = [await connect(page, port), await connect(page, port)];
      await talk(page, answers);
      if (name === 'framemask/ws') await checkConnections(screen, port, '●', '');
      child.kill('SIGUSR2');
      await screen.filter({ opcodes: [OPCODES.pong] });
      await screen.page.locator('#list .row:visible').nth(1).waitFor();
      child.kill('SIGTERM');
      assert.deepEqual(await once(child, 'exit'), [0, null]);
      if (name === 'framemask/ws') await checkConnections(screen, port, '○', ', closed(?: 1001)?');
      await screen.filter({ opcodes: [OPCODES.close] });
      await screen.page.locator('#list .row:visible').nth(3).waitFor();
      for (const [i, { client, server }] of connections.entries()) {
        assert.equal(server.length, answers);
        await checkTexts(screen, i * perSocket, 'client', client, payload);
        await checkTexts(screen, (i + 1) * perSocket - 1, 'server', server, payload);
      }
      const lengths = async (opcode, sender) => {
        await screen.filter({ opcodes: [OPCODES[opcode]], connection: -1, sender });
        return screen.column('length');
      };
      assert.deepEqual(await lengths('ping', 'server'), ['0', '0']);
      assert.deepEqual(await lengths('pong', 'client'), ['0', '0']);
      assert.deepEqual(await lengths('close', 'server'), Array(2).fill(`${2 + 'The server is going away'.length}`));
      assert.equal((await lengths('close', 'client')).length, 2);
      await screen.filter({ opcodes: [OPCODES.ping], sender: 'both' });
      await screen.page.locator('#list .row:visible').first().click();
      await screen.page.waitForSelector('#detail .verdict');
      assert.match(
        await screen.detail(),
        /of the server: ping[\s\S]*No end reported an error[\s\S]*The payload is empty/
      );
      // All are good, and there are no others.
      await screen.filter({ opcodes: null });
      await screen.page.selectOption('#verdict', { label: 'good' });
      await screen.waitForFrames(`live: ${2 * (TEXTS.length + answers) + 8} frames`);
      assert.equal(await screen.page.locator('#connection option').count(), 1 + 2 * perSocket);
      assert.ok(await screen.page.locator('.row.head .connection').isVisible());
    } finally {
      child.kill('SIGKILL');
      await page.close();
    }
  });
}
