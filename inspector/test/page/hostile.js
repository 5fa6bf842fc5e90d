'use strict';

// Payloads, names and records that would run if they were taken for HTML.

const assert = require('node:assert/strict');
const { encode } = require('../support/frames');
const { RECORD, connectLive } = require('../support/programs');
const { testScreen } = require('../support/screen');

const HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script><svg/onload=alert(3)>';

/** JSON, addresses, links, files and copies. */
async function checkNewParts(screen, inspector) {
  const { page } = screen;
  const json = JSON.stringify({ [HOSTILE]: `${HOSTILE}\u202e`, __proto__: [HOSTILE] });
  const live = await connectLive(inspector);
  inspector.clear();
  const bytesOfJson = { length: Buffer.byteLength(json), payload: Buffer.from(json).toString('base64') };
  const records = [
    { handshake: HOSTILE, role: 'client', key: 'k', host: `${HOSTILE}\u202e`, path: HOSTILE, client: HOSTILE },
    { ...RECORD, connection: HOSTILE, key: 'k', sequence: 1, ...bytesOfJson }
  ];
  live.sendRecords(records);
  await screen.waitForFrames('live: 1 frame');
  await screen.select(0);
  assert.match(await screen.text('[aria-label="Message"] pre'), /^\{\n {2}"<img src=x[\s\S]*\n\}$/);
  const shown = await page.evaluate(() => document.body.textContent);
  assert.ok(shown.includes('→ <img src=x') && !shown.includes('\u202e'));
  const command = await screen.copied('#detail button:text-is("command")');
  assert.match(command, /^node [ -~]*new WebSocket\("ws:\/\/ADDRESS\/"\)/);
  assert.equal(command.split("'").length, 3, 'it is one argument');
  const head = `GET /${HOSTILE} HTTP/1.1\r\nHost: ${HOSTILE}\r\nUpgrade: websocket\r\n\r\n`;
  const bytes = Buffer.concat([Buffer.from(head), encode('client', (encoder) => encoder.text('x'))]);
  await screen.openFiles({ [`${HOSTILE.replaceAll('/', '')}.bin`]: bytes });
  await screen.waitForFrames('1 frame');
  await screen.select(0);
  await page.click('#detail summary');
  await page.locator('#detail details pre:visible', { hasText: `Host: ${HOSTILE}` }).waitFor();
  inspector.clear();
  live.sendRecords(records);
  await screen.waitForFrames('live: 1 frame');
  const download = page.waitForEvent('download');
  await page.click('#export-part [value="jsonl"]');
  assert.equal((await download).suggestedFilename(), 'live.jsonl');
  const hash = `&search=${encodeURIComponent(HOSTILE)}&frame=0&connection=${HOSTILE}&range=0-99999999999999999999&without=1e9`;
  // Another hash has the page load again.
  await Promise.all([page.waitForEvent('load'), page.goto(`${screen.url}${hash}`)]);
  await screen.waitForFrames('live: 0 of 1 frame');
  await screen.waitForDetail(0);
  live.close();
}

testScreen('hostile payloads and records stay text', async (screen, inspector) => {
  const { page } = screen;
  const bytes = encode('client', (encoder) => {
    encoder.text(HOSTILE, { fin: false });
    encoder.ping(HOSTILE);
    encoder.continuation(`${HOSTILE}\u202e\u0000`);
    encoder.close(1000, HOSTILE.slice(0, 90));
  });
  await screen.paste(bytes.toString('hex'));
  await screen.waitForFrames('4 frames');
  await screen.unfold();
  for (const index of [0, 1, 2, 3]) {
    await screen.select(index);
    assert.ok((await screen.detail()).includes('<img src=x'), 'the payload is shown as text');
    assert.ok(!(await screen.detail()).includes('\u202e'), 'what turns text around is shown as its code');
  }
  const record = { ...RECORD, id: HOSTILE, connection: HOSTILE, key: HOSTILE };
  const error = { code: HOSTILE, closeCode: HOSTILE, message: HOSTILE };
  const lines = [
    { ...record, sequence: 1 },
    { ...record, sequence: 2, error }
  ].map((each) => JSON.stringify(each));
  await inspector.open({ data: Buffer.from(lines.join('\n')), name: HOSTILE });
  await screen.waitForFrames('2 frames');
  await screen.select(1);
  assert.ok((await screen.verdict()).includes('<img src=x'));
  assert.equal(await page.locator('main :is(img, script, svg), header img, #notes img').count(), 0);
  await checkNewParts(screen, inspector);
  // A payload that did run would be stopped by the policy. Both are reported to the console.
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
  assert.ok(screen.errors.length > 0);
  for (const text of screen.errors.splice(0)) assert.match(text, /Trusted|Content Security Policy|connect-src/i);
  screen.requests = screen.requests.filter((url) => url !== 'http://127.0.0.1:9/');
});
