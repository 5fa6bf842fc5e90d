'use strict';

// Programs that run while the page is open.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { RECORD, connectLive, startLive } = require('../support/programs');
const { testScreen } = require('../support/screen');

testScreen('live: the list follows its end, says how many are new, and is paused', async (screen, inspector) => {
  const { page } = screen;
  const live = await connectLive(inspector);
  let sequence = 0;
  const send = (count) => live.sendRecords(Array.from({ length: count }, () => ({ ...RECORD, sequence: ++sequence })));
  const last = async () => (await screen.column('number')).at(-1);
  send(100);
  await screen.waitForFrames('live: 100 frames');
  assert.equal(await last(), '100');
  assert.equal(await screen.text('#open'), '1 of 1 connection open');
  await page.hover('#list');
  await page.mouse.wheel(0, -600);
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

testScreen('live: rows that come all the time do not end a search that takes longer', async (screen, inspector) => {
  const { page } = screen;
  const live = await connectLive(inspector);
  let sequence = 0;
  const send = () => live.sendRecords([{ ...RECORD, sequence: ++sequence }]);
  send();
  await screen.waitForFrames('live: 1 frame');
  // The page waits half as long for further rows.
  await page.route(/\/page\?/, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await route.continue().catch(() => {});
  });
  const timer = setInterval(send, 50);
  await page.fill('#search', 'text');
  await page.waitForFunction(() => /^live: \d+ of/.test(document.getElementById('status').textContent));
  clearInterval(timer);
  live.close();
});

testScreen(
  'the command that starts a program is copied, with payloads if they are asked for',
  async (screen, inspector) => {
    const { page } = screen;
    for (const payload of ['', 'FRAMEMASK_INSPECTOR_PAYLOAD=65536 ']) {
      if (payload !== '') await page.check('#live-payload');
      assert.equal(await screen.copied('#copy-live'), `${payload}${inspector.liveCommand}`);
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
    process.on('SIGUSR2', () => server.connections.forEach((each) => each.ping()));
    process.on('SIGTERM', () => shutDown(server));`
};

/**
 * Opens two connections in Chromium, has each send TEXTS, and waits for the answers.
 * @returns the texts of each connection, as Chromium reports them
 */
async function converse(page, port, answers) {
  const connections = [];
  page.on('websocket', (socket) => {
    const texts = { client: [], server: [] };
    connections.push(texts);
    socket.on('framesent', ({ payload }) => texts.client.push(String(payload)));
    socket.on('framereceived', ({ payload }) => texts.server.push(String(payload)));
  });
  await page.evaluate(
    async ([url, texts, count]) => {
      const sockets = [new WebSocket(url), new WebSocket(url)];
      globalThis.sockets = sockets;
      const listen = (socket, type, times) =>
        new Promise((resolve) => socket.addEventListener(type, () => --times || resolve()));
      await Promise.all(sockets.map((socket) => listen(socket, 'open', 1)));
      const heard = sockets.map((socket) => listen(socket, 'message', count));
      for (const text of texts) for (const socket of sockets) socket.send(text);
      await Promise.all(heard);
    },
    [`ws://127.0.0.1:${port}`, TEXTS, answers]
  );
  return connections;
}

/** The rows of text frames that Chromium has sent or received. */
const rowsOf = (texts, connection, payload) =>
  texts.map((text, i) => {
    const preview = Buffer.from(text).subarray(0, payload).toString().slice(0, PREVIEW);
    return [`${connection + 1}`, `${i + 1}`, Buffer.byteLength(text).toLocaleString('en'), preview];
  });

for (const [name, payload, answers] of [
  ['framemask/ws', 0, 2 * TEXTS.length],
  ['the codec', 64, TEXTS.length]
]) {
  testScreen(`live: Chromium talks to ${name}, which is shut down`, async (screen, inspector) => {
    const env = { FRAMEMASK_INSPECTOR: inspector.liveUrl, FRAMEMASK_INSPECTOR_PAYLOAD: String(payload) };
    const { child, port } = await startLive(env, '-e', SERVERS[name]);
    // In the same context, the inspector's page would be in the background, where nothing is drawn.
    const page = await screen.page.context().browser().newPage();
    const options = (sign, state) => {
      const hasText = new RegExp(`^${sign} \\d: \\S+:\\d+ → 127.0.0.1:${port} /${state}$`);
      return screen.page.locator('#connection option', { hasText }).nth(1).waitFor({ state: 'attached' });
    };
    try {
      const connections = await converse(page, port, answers);
      if (name === 'framemask/ws') await options('●', '');
      child.kill('SIGUSR2');
      await screen.filter({ opcodes: [OPCODES.pong] });
      await screen.page.locator('#list .row:visible').nth(1).waitFor();
      child.kill('SIGTERM');
      assert.deepEqual(await once(child, 'exit'), [0, null]);
      if (name === 'framemask/ws') await options('○', ', closed(?: 1001)?');
      // All are good, and there are no others.
      await screen.filter({ opcodes: null });
      await screen.page.selectOption('#verdict', { label: 'good' });
      await screen.waitForFrames(`live: ${2 * (TEXTS.length + answers) + 8} frames`);
      for (const [i, { client, server }] of connections.entries()) {
        assert.equal(server.length, answers);
        for (const [sender, texts] of Object.entries({ client, server })) {
          await screen.filter({ opcodes: [OPCODES.text], connection: i, sender });
          const shown = (await screen.rows()).map((row) => [
            row.connection.slice(-1),
            row.number,
            row.length,
            row.preview
          ]);
          assert.deepEqual(shown, rowsOf(texts, i, payload), `the ${sender} of connection ${i}`);
        }
      }
      for (const [opcode, sender, length] of [
        ['ping', 'server', '0'],
        ['pong', 'client', '0'],
        ['close', 'server', `${2 + 'The server is going away'.length}`]
      ]) {
        await screen.filter({ opcodes: [OPCODES[opcode]], connection: -1, sender });
        assert.deepEqual(await screen.column('length'), [length, length], opcode);
      }
    } finally {
      child.kill('SIGKILL');
      await page.close();
    }
  });
}
