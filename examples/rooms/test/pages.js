'use strict';

// Pages of the chat in Chromium.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { chromium } = require('playwright-core');
const { startChromium } = require('../../../test/support/chromium');
const { RoomsServer } = require('../server');
const { SERVER, startServers } = require('./support/processes');

/** Hostile, if a page made HTML of it. */
const HOSTILE = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>';

async function openBrowser(t) {
  const browser = await startChromium({ chromium });
  t.after(() => browser.close());
  return browser;
}

/** Opens a server's page, and enters a room. `faults` gets requests to elsewhere, and errors. */
async function enter(browser, { port, hash = '' }, name, room, faults = []) {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  page.on('request', (request) => {
    const url = request.url();
    if (new URL(url).host !== `127.0.0.1:${port}` && !url.startsWith('data:')) faults.push(url);
  });
  page.on('pageerror', ({ message }) => faults.push(message));
  await page.goto(`http://127.0.0.1:${port}/${hash}`);
  await page.fill('#name', name);
  await page.fill('#room', room);
  await page.press('#room', 'Enter');
  await status(page, 'Connected');
  assert.equal(await page.locator('#enter').isVisible(), false);
  return page;
}

const status = (page, text) => page.locator('#status', { hasText: text }).waitFor();

async function say(page, text) {
  await page.fill('#text', text);
  await page.press('#text', 'Enter');
}

/** The pages show these lines, each with its sender's name, and no others. */
async function expectLines(pages, lines) {
  for (const page of pages) {
    const shown = page.locator('#messages li');
    await shown.nth(lines.length - 1).waitFor();
    const text = (items) => items.map((item) => `${item.dataset.name} ${item.querySelector('p').textContent}`);
    assert.deepEqual(await shown.evaluateAll(text), lines);
  }
}

/** The page shows that these are in its room, in any order. */
async function expectMembers(page, names) {
  await page.locator('#count', { hasText: new RegExp(`^${names.length}$`) }).waitFor();
  // The page begins with the count 1, and gets the names half a second later.
  await page
    .locator('#names li')
    .nth(names.length - 1)
    .waitFor({ state: 'attached' });
  const shown = await page.locator('#names li').allTextContents();
  assert.deepEqual(shown.sort(), names);
}

test('pages chat through three processes, of which one is killed', async (t) => {
  const { servers } = await startServers(t, [SERVER]);
  const browser = await openBrowser(t);
  const faults = [];
  const pages = [];
  for (const [i, name] of ['Ada', 'Bob', 'Eve'].entries()) {
    pages.push(await enter(browser, servers[i], name, 'tea', faults));
  }
  const [ada, bob, eve] = pages;
  const zoe = await enter(browser, servers[0], 'Zoe', 'coffee', faults);
  const lines = ['Ada Καλημέρα', 'Bob Καλημέρα', 'Eve Καλημέρα', `Bob ${HOSTILE}`];
  for (const [i, page] of [ada, bob, eve, bob].entries()) {
    await say(page, lines[i].slice(4));
    await expectLines(pages, lines.slice(0, i + 1));
  }

  await expectMembers(ada, ['Ada', 'Bob', 'Eve']);
  await expectMembers(zoe, ['Zoe']);
  assert.equal(await ada.locator('#messages header').count(), 4, 'each message has another author than the one before');

  await servers[2].stop('SIGKILL');
  await status(eve, 'Connecting again');
  await say(eve, 'said while it was cut off');
  await eve.locator('#messages .unsent', { hasText: 'said while it was cut off' }).waitFor();
  await say(ada, 'heard later');
  lines.push('Ada heard later');
  await expectLines([ada, bob], lines);
  await servers[2].start();
  await status(eve, 'Connected');
  lines.push('Eve said while it was cut off');
  await expectLines(pages, lines);
  // Its page has as many lines before its own message comes back.
  await eve.locator('#messages .unsent').waitFor({ state: 'detached' });

  // The form is hidden; a script, such as that of an extension, may still submit it.
  await eve.locator('#room').evaluate((input) => {
    input.value = 'x'.repeat(65);
    input.form.requestSubmit();
  });
  await eve.locator('#refused', { hasText: 'The server has refused' }).waitFor();
  await eve.fill('#room', 'coffee');
  await eve.press('#room', 'Enter');
  await status(eve, 'Connected');
  await say(eve, 'in the second room');
  await expectLines([zoe], ['Eve in the second room']);
  await say(ada, 'in the first room');
  lines.push('Ada in the first room');
  await expectLines([ada, bob], lines);
  await expectLines([eve], ['Eve in the second room']);
  await expectMembers(ada, ['Ada', 'Bob']);
  for (const page of pages) {
    assert.equal(await page.title(), 'Rooms', 'no page has run the hostile message');
    assert.equal(await page.locator('#messages :is(img, script)').count(), 0);
  }
  assert.deepEqual(faults, []);
});

test('a page that changes its room shows no members of the former one', async (t) => {
  const server = new RoomsServer();
  const port = await server.listen();
  t.after(() => server.shutDown());
  const browser = await openBrowser(t);
  await enter(browser, { port }, 'Ada', 'tea');
  const bob = await enter(browser, { port }, 'Bob', 'tea');
  await expectMembers(bob, ['Ada', 'Bob']);
  // In one turn: the members of the second room can't have come.
  const shown = await bob.locator('#room').evaluate((input) => {
    input.value = 'coffee';
    input.form.requestSubmit();
    return [document.getElementById('count').textContent, document.getElementById('names').textContent];
  });
  assert.deepEqual(shown, ['1', '']);
  await expectMembers(bob, ['Bob']);
});

test('a page takes a token as it is if it can not be decoded', async (t) => {
  const server = new RoomsServer({ token: '100%' });
  const port = await server.listen();
  t.after(() => server.shutDown());
  const browser = await openBrowser(t);
  for (const hash of ['#100%', '#100%25']) await enter(browser, { port, hash }, 'Ada', 'tea');
});
