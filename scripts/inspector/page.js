'use strict';

// The page itself: many frames, the keyboard, a narrow window, hostile payloads, requests.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { encode } = require('./frames');
const { SCREENSHOTS, withScreen } = require('./session');

const MANY = 100_000;

async function manyFrames(screen) {
  const { page } = screen;
  const bytes = encode('client', (encoder) => {
    for (let i = 0; i < MANY; i++) {
      if (i % 10 === 0) encoder.ping(`ping ${i}`);
      else encoder.text(`message ${i}`);
    }
  });
  // From a file: bytes that are given would be decoded in the page by the test itself.
  const file = path.join(SCREENSHOTS, 'many.bin');
  fs.writeFileSync(file, bytes);
  await page.setInputFiles('#files', file);
  await screen.waitForFrames('100,000 frames');
  const drawn = await page.locator('#list .row').count();
  assert.ok(drawn < 100, `${drawn} rows are elements`);
  await page.focus('#list');
  await page.keyboard.press('End');
  await screen.waitForDetail(MANY - 1);
  assert.match(await screen.detail(), /message 99999/);
  for (let i = 0; i < 30; i++) await page.keyboard.press('PageUp');
  await page.mouse.move(200, 600);
  for (let i = 0; i < 20; i++) await page.mouse.wheel(0, -20_000);
  await page.uncheck('#opcode-1');
  await screen.waitForFrames('10,000 of 100,000 frames');
  await page.check('#opcode-1');
  await page.fill('#min', '13');
  await screen.waitForFrames('81,000 of 100,000 frames');
  await page.fill('#min', '');
  await page.fill('#search', 'PING 4242');
  await screen.waitForFrames('1 of 100,000 frames');
  await screen.screenshot('many');
  assert.deepEqual(
    (await screen.rows()).map(({ preview }) => preview),
    ['ping 42420']
  );
  await page.fill('#search', 'message 77777');
  await screen.waitForFrames('1 of 100,000 frames');
  await page.fill('#search', '');
  await screen.waitForFrames('100,000 frames');
  const longest = await page.evaluate(() => Math.max(0, ...globalThis.longTasks));
  await screen.clear();
  await screen.drawn();
  assert.deepEqual(await screen.rows(), []);
  return `${MANY} frames, ${drawn} rows are elements, the longest task of the page ${longest.toFixed(0)} ms`;
}

/** Everything without a mouse. */
async function keyboardOnly(screen) {
  const { page } = screen;
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.tagName);
  const tabTo = async (id) => {
    for (let i = 0; i < 60 && (await focused()) !== id; i++) await press('Tab');
    assert.equal(await focused(), id);
  };
  await tabTo('pasted');
  await page.keyboard.type('client: 810548656c6c6f\nserver: 8100 8a00 880203e8');
  await press('Control+Enter');
  await screen.waitForFrames('4 frames');
  await press('Escape');
  assert.equal(await focused(), 'list');
  await press('ArrowDown');
  await screen.waitForDetail(0);
  assert.match(await screen.verdict(), /MASK_MISSING/);
  await press('ArrowDown', 'ArrowDown');
  await screen.waitForDetail(2);
  const active = await page.getAttribute('#list', 'aria-activedescendant');
  assert.match(await page.getAttribute(`#${active}`, 'aria-label'), /frame 2 of the server, pong/);
  await press('p');
  await screen.waitForDetail(0);
  await press('Enter');
  assert.equal(await focused(), 'detail');
  await press('Escape', 'End');
  await screen.waitForDetail(3);
  await press('/');
  assert.equal(await focused(), 'search');
  await page.keyboard.type('hex:03e8');
  await screen.waitForFrames('1 of 4 frames');
  await page.fill('#search', '');
  await screen.waitForFrames('4 frames');
  await tabTo('opcode-8');
  await press('Space');
  await screen.waitForFrames('3 of 4 frames');
  await press('Space');
  await tabTo('timeline');
  await press('Home');
  await screen.waitForDetail(0);
  await press('ArrowRight');
  await screen.waitForDetail(1);
  assert.equal(await page.getAttribute('#timeline', 'aria-valuetext'), 'frame 1 of the server');
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, 'none', 'the focus can be seen');
}

/** A window of 360 px, in light and dark. */
async function narrow(browser) {
  for (const colorScheme of ['light', 'dark']) {
    await withScreen(
      browser,
      async (screen) => {
        await screen.checkWidth();
        await screen.screenshot(`narrow-open-${colorScheme}`);
        const long = encode('client', (encoder) => {
          encoder.text('x'.repeat(2000));
          encoder.text('a fragment ', { fin: false });
          encoder.ping();
          encoder.continuation('and another');
          encoder.close(1000, 'bye');
        });
        await screen.paste(`client: ${long.toString('hex')}\nserver: 81ffffffffffffffffff`);
        await screen.waitForFrames('6 frames');
        await screen.checkWidth();
        for (const index of [0, 3, 5]) {
          await screen.select(index);
          await screen.checkWidth();
        }
        await screen.screenshot(`narrow-${colorScheme}`, { fullPage: true });
        const [back, front] = await screen.page.evaluate(() => {
          const style = getComputedStyle(document.body);
          return [style.backgroundColor, style.color];
        });
        assert.equal(back === 'rgb(255, 255, 255)', colorScheme === 'light', back);
        assert.notEqual(back, front);
      },
      { viewport: { width: 360, height: 740 }, colorScheme }
    );
    await withScreen(
      browser,
      async (screen) => {
        await screen.paste('client: 818537fa213d7f9f4d5158 89800000000088020102 \nserver: 810548656c6c6f 8a00 8b00');
        await screen.page.waitForSelector('#list .row.bad:visible');
        await screen.page.focus('#list');
        await screen.page.keyboard.press('n');
        await screen.page.waitForSelector('#detail .verdict.bad');
        await screen.screenshot(`wide-${colorScheme}`);
      },
      { colorScheme }
    );
  }
}

const HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script><svg/onload=alert(3)>';

/** Payloads, names and notes that would run if they were taken for HTML. */
async function hostile(screen, inspector) {
  const { page } = screen;
  const bytes = encode('client', (encoder) => {
    encoder.text(HOSTILE, { fin: false });
    encoder.ping(HOSTILE);
    encoder.continuation(`${HOSTILE}\u202e\u0000`);
    encoder.close(1000, HOSTILE.slice(0, 90));
  });
  await screen.paste(bytes.toString('hex'));
  await screen.waitForFrames('4 frames');
  for (const index of [0, 1, 2, 3]) {
    await screen.select(index);
    assert.ok((await screen.detail()).includes('<img src=x'), 'the payload is shown as text');
  }
  assert.ok(!(await screen.detail()).includes('\u202e'), 'what turns text around is shown as its code');
  const record = {
    id: HOSTILE,
    connection: HOSTILE,
    key: HOSTILE,
    from: 'client',
    role: 'client',
    direction: 'sent',
    sequence: 1
  };
  await inspector.open({
    data: Buffer.from(
      JSON.stringify({ ...record, opcode: 1, fin: true, rsv: 0, masked: true, length: 1, error: null }) +
        `\n${JSON.stringify({ ...record, sequence: 2, error: { code: HOSTILE, closeCode: HOSTILE, message: HOSTILE } })}`
    ),
    name: HOSTILE
  });
  await screen.waitForFrames('2 frames');
  await screen.select(1);
  assert.ok((await screen.verdict()).includes('<img src=x'));
  const elements = await page.evaluate(
    () => document.querySelectorAll('main img, main script, main svg, header img, #notes img').length
  );
  assert.equal(elements, 0);
  // What a payload would do if it did run: the policy stops it. Both are reported to the console.
  const stopped = await page.evaluate(async () => {
    let trusted = 'allowed';
    try {
      document.body.innerHTML += '<b>x</b>';
    } catch {
      trusted = 'refused';
    }
    const fetched = await fetch('http://127.0.0.1:9/').then(
      () => 'allowed',
      () => 'refused'
    );
    return { trusted, fetched };
  });
  assert.deepEqual(stopped, { trusted: 'refused', fetched: 'refused' });
  assert.ok(
    screen.errors.length > 0 &&
      screen.errors.every((text) => /Trusted|Content Security Policy|connect-src/i.test(text)),
    screen.errors.join('\n')
  );
  screen.errors.length = 0;
  screen.requests = screen.requests.filter((url) => url !== 'http://127.0.0.1:9/');
}

/** The status that the server answers a request with. */
function statusOf(port, path, headers, upgrade = false) {
  const handshake = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': 13,
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ=='
  };
  return new Promise((resolve, reject) => {
    const request = http.get({
      host: '127.0.0.1',
      port,
      path,
      agent: false,
      headers: { ...(upgrade ? handshake : {}), ...headers }
    });
    request.on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      resolve(101);
    });
    request.on('error', reject);
  });
}

/** Names and origins that are not this server's. */
async function foreign(screen, inspector) {
  const { port } = new URL(screen.url);
  const token = new URL(screen.url).hash.slice(1);
  const host = `127.0.0.1:${port}`;
  const page = `/page?token=${token}`;
  const live = new URL(inspector.liveUrl);
  for (const [status, path, headers, upgrade] of [
    [200, '/', { Host: host }],
    [200, '/', { Host: `localhost:${port}` }],
    [421, '/', { Host: 'evil.example' }],
    [421, '/', { Host: `evil.example:${port}` }],
    [421, '/main.mjs', { Host: '127.0.0.1' }],
    [404, '/../cli.js', { Host: host }],
    [404, '/%2e%2e/cli.js', { Host: host }],
    [101, page, { Host: host, Origin: `http://${host}` }, true],
    [421, page, { Host: `evil.example:${port}`, Origin: `http://evil.example:${port}` }, true],
    [403, page, { Host: host, Origin: 'http://evil.example' }, true],
    [403, page, { Host: host }, true],
    [403, '/page?token=wrong', { Host: host, Origin: `http://${host}` }, true],
    [403, '/page', { Host: host, Origin: `http://${host}` }, true],
    [101, live.pathname + live.search, { Host: host }, true],
    [403, live.pathname + live.search, { Host: host, Origin: `http://${host}` }, true],
    [403, `/live?token=${token}`, { Host: host }, true]
  ]) {
    assert.equal(await statusOf(port, path, headers, upgrade), status, `${path} ${JSON.stringify(headers)}`);
  }
  // A page of another origin, in a browser that knows the token.
  const other = http.createServer((_request, response) =>
    response.setHeader('Content-Type', 'text/html').end('<p>other')
  );
  await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve));
  try {
    const tab = await screen.page.context().newPage();
    await tab.goto(`http://127.0.0.1:${other.address().port}/`);
    const opened = await tab.evaluate(
      (url) =>
        new Promise((resolve) => {
          const socket = new WebSocket(url);
          socket.onopen = () => resolve(true);
          socket.onerror = () => resolve(false);
        }),
      `ws://${host}${page}`
    );
    assert.equal(opened, false);
    await tab.close();
  } finally {
    other.closeAllConnections();
    other.close();
  }
}

module.exports = [
  { name: 'many frames', run: (browser) => withScreen(browser, manyFrames) },
  { name: 'keyboard only', run: (browser) => withScreen(browser, keyboardOnly) },
  { name: 'narrow window', run: narrow },
  { name: 'hostile payloads', run: (browser) => withScreen(browser, hostile) },
  { name: 'host and origin', run: (browser) => withScreen(browser, foreign) }
];
