'use strict';

// Programs that run while the page is open.

const assert = require('node:assert/strict');
const path = require('node:path');
const { enter, read, say } = require('../rooms/chat-page');
const { ServerProcess } = require('../rooms/processes');
const { encode } = require('./frames');
const { FRAMES, runLive } = require('./programs');
const { withScreen } = require('./session');

/** The page has each frame once, with the records of both ends, and nothing of the inspector's own. */
async function checkFrames(screen) {
  await screen.waitForFrames(`${FRAMES} frames`);
  await screen.page.waitForFunction((frames) => {
    const ends = [...document.querySelectorAll('#list .row .ends')].filter((each) => each.checkVisibility());
    return ends.length === frames && ends.every(({ textContent }) => textContent === 'both');
  }, FRAMES);
}

async function live(screen, inspector) {
  const env = { FRAMEMASK_INSPECTOR: inspector.liveUrl };
  await runLive(env);
  await checkFrames(screen);
  const rows = await screen.rows();
  assert.ok(
    rows.every(({ preview }) => preview === ''),
    'no payload, unless it is asked for'
  );
  assert.ok(inspector.session.frames.every(({ beginning }) => beginning === null));
  assert.deepEqual(
    rows.filter(({ bracket }) => bracket !== '').map(({ opcode }) => opcode),
    ['text', 'ping', 'continuation']
  );
  await screen.screenshot('live');
  await screen.clear();
  await runLive({ ...env, FRAMEMASK_INSPECTOR_PAYLOAD: '8' }, true);
  await checkFrames(screen);
  const previews = (await screen.rows()).map(({ preview }) => preview);
  assert.ok(
    previews.includes('Hello') && previews.includes('two frag') && previews.includes('between'),
    previews.join()
  );
  assert.ok(inspector.session.frames.every(({ beginning }) => beginning.length <= 8));
  // What is opened stays, until it is cleared.
  await screen.paste(encode('client', (encoder) => encoder.text('opened')).toString('hex'));
  await screen.waitForFrames('1 frames');
  await runLive(env);
  await screen.page.waitForSelector('#notes:visible');
  assert.match(await screen.text('#notes'), /Clear the list/);
  await screen.waitForFrames('1 frames');
  return `${FRAMES} frames of one process, and of two`;
}

const ROOT = path.join(__dirname, '../..');
const NAMES = ['Ada', 'Bob'];
/** Messages of each of them. */
const SAID = 3;
/** Bytes of each payload, where they are asked for; characters of them that the list shows. */
const PAYLOAD = 64;
const PREVIEW = 48;
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;

/** Two pages of the chat talk in one room. @returns what each has sent and received, as Chromium says */
async function chat(context, port) {
  const faults = [];
  const sockets = [];
  const note = (socket, sender) => (frame) => socket[sender].push(String(frame.payload));
  context.on('page', (page) =>
    page.once('websocket', (socket) => {
      const texts = { client: [], server: [] };
      sockets.push(texts);
      socket.on('framesent', note(texts, 'client')).on('framereceived', note(texts, 'server'));
    })
  );
  const pages = [];
  for (const name of NAMES) pages.push(await enter(context, port, name, 'tea', faults));
  const lines = [];
  for (let i = 0; i < SAID; i++) {
    for (const [of, page] of pages.entries()) {
      await say(page, `Καλημέρα ${i}`);
      lines.push(`${NAMES[of]} Καλημέρα ${i}`);
      for (const each of pages) await each.locator(`#messages li >> nth=${lines.length - 1}`).waitFor();
    }
  }
  for (const page of pages) assert.deepEqual(await read(page), lines);
  assert.deepEqual(faults, []);
  return sockets;
}

const previewOf = (text, payload) => Buffer.from(text).subarray(0, payload).toString().slice(0, PREVIEW);

/** The page of the inspector has the text frames of a connection, as those who have talked know them. */
async function checkTexts(screen, connection, texts, payload) {
  for (const sender of ['client', 'server']) {
    await screen.filter({ opcodes: [TEXT], connection, sender });
    const rows = await screen.rows();
    assert.deepEqual(
      rows.map(({ connection: nth, opcode, fin, length, preview }) => [nth, opcode, fin, length, preview]),
      texts[sender].map((text) => [
        `${connection + 1}`,
        'text',
        '1',
        `${Buffer.byteLength(text)}`,
        previewOf(text, payload)
      ]),
      `the ${sender} of connection ${connection + 1}`
    );
    const numbers = rows.map(({ number }) => Number(number));
    assert.ok(numbers.every((number, i) => i === 0 || number > numbers[i - 1]));
  }
}

/** Pings with Pongs, and the closing handshake that the server began. @returns {Promise<number>} frames */
async function checkControls(screen, connection) {
  const lengths = async (opcode, sender) => {
    await screen.filter({ opcodes: [opcode], connection, sender });
    return (await screen.rows()).map(({ length }) => Number(length));
  };
  const pings = await lengths(PING, 'server');
  const pongs = await lengths(PONG, 'client');
  assert.ok(pongs.length > 0 && (pings.length === pongs.length || pings.length === pongs.length + 1));
  assert.ok([...pings, ...pongs].every((length) => length === 0));
  assert.deepEqual(await lengths(CLOSE, 'server'), [2 + 'The server is going away'.length]);
  const answer = await lengths(CLOSE, 'client');
  assert.ok(answer.length === 1 && answer[0] >= 2);
  return pings.length + pongs.length + 2;
}

/** examples/rooms sends its records while people chat, and is shut down in an orderly way. */
async function rooms(screen, inspector, kind, payload) {
  const preloaded = ['inspector/live.js', 'scripts/inspector/short-heartbeat.js'];
  const server = new ServerProcess(
    [
      ...preloaded.flatMap((file) => ['--require', path.join(ROOT, file)]),
      path.join(ROOT, 'examples/rooms/server.js'),
      ...(kind === 'codec' ? ['--codec'] : [])
    ],
    { REDIS_URL: '', FRAMEMASK_INSPECTOR: inspector.liveUrl, FRAMEMASK_INSPECTOR_PAYLOAD: String(payload) }
  );
  const context = await screen.page.context().browser().newContext();
  try {
    await server.start();
    const sockets = await chat(context, server.port);
    for (const connection of sockets.keys()) {
      await screen.filter({ opcodes: [PONG], connection });
      await screen.page.waitForSelector('#list .row:visible');
    }
    await screen.filter({ opcodes: [CLOSE], connection: -1 });
    // The pages are open: the server says goodbye to them, and its last records arrive.
    assert.equal(await server.stop('SIGTERM'), 0);
    assert.equal(server.output(), `Chat on http://127.0.0.1:${server.port}\n`);
    await screen.page.locator('#list .row:visible').nth(3).waitFor();
    let frames = 0;
    for (const [connection, texts] of sockets.entries()) {
      assert.deepEqual([texts.client.length, texts.server.length], [2 + SAID, 2 + SAID + NAMES.length * SAID]);
      await checkTexts(screen, connection, texts, payload);
      frames += texts.client.length + texts.server.length + (await checkControls(screen, connection));
    }
    await screen.filter({ opcodes: [PING], connection: -1, sender: 'both' });
    await screen.page.locator('#list .row:visible').first().click();
    await screen.page.waitForSelector('#detail .verdict');
    assert.match(await screen.detail(), /of the server: ping[\s\S]*The payload is empty/);
    assert.match(await screen.verdict(), /No end reported an error/);
    await screen.filter({ opcodes: null });
    // All of them are good, and there are no others.
    await screen.page.selectOption('#verdict', { label: 'good' });
    await screen.waitForFrames(`live: ${frames} frames`);
    assert.equal(await screen.page.locator('#connection option').count(), 1 + NAMES.length);
    assert.ok(await screen.page.locator('.row.head .connection').isVisible());
    await screen.page.click('#sources > summary');
    await screen.screenshot(`live-rooms-${kind}`);
    return frames;
  } finally {
    await context.close();
    if (server.isStarted) await server.stop();
  }
}

async function liveRooms(browser) {
  const frames = await withScreen(browser, (screen, inspector) => rooms(screen, inspector, 'ws', 0));
  const onCodec = await withScreen(browser, (screen, inspector) => rooms(screen, inspector, 'codec', PAYLOAD));
  return `${frames} frames on framemask/ws, ${onCodec} on the codec`;
}

module.exports = [
  { name: 'live', run: (browser) => withScreen(browser, live) },
  { name: 'live rooms', run: liveRooms }
];
