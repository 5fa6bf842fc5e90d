'use strict';

// What can be pasted and opened, as the page shows it.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { Decoder } = require('../../index.js');
const { BAD_CASES, encode } = require('./frames');
const { FRAMES, printRecords } = require('./programs');
const { SCREENSHOTS, withScreen } = require('./session');

const MANY = 130_000;

const FRAGMENTED = encode('client', (encoder) => {
  encoder.text('Hello', { fin: false });
  encoder.ping('are you there?');
  encoder.continuation(', ', { fin: false });
  encoder.ping();
  encoder.continuation('Wörld');
  encoder.binary(Buffer.alloc(300, 7));
  encoder.close(1000, 'bye');
});

async function pasted(screen) {
  for (const text of [FRAGMENTED.toString('hex'), FRAGMENTED.toString('base64')]) {
    await screen.paste('89 80 00000000');
    await screen.waitForFrames('1 frames');
    await screen.paste(text);
    await screen.waitForFrames('7 frames');
    const rows = await screen.rows();
    assert.ok(await screen.page.locator('.row.head .connection').isHidden(), 'there is one connection only');
    assert.deepEqual(
      rows.map(({ opcode }) => opcode),
      ['text', 'ping', 'continuation', 'ping', 'continuation', 'binary', 'close']
    );
    assert.deepEqual(
      rows.map(({ bracket }) => bracket),
      ['┐', '│', '┤', '│', '┘', '', '']
    );
    assert.equal(rows[1].preview, 'are you there?');
    assert.equal(rows[6].preview, '1000 bye');
  }
  await screen.select(2);
  const detail = await screen.detail();
  assert.match(detail, /text of 13 bytes in 3 frames/);
  assert.match(detail, /Hello, Wörld/);
  assert.match(detail, /masking key [\da-f]{8}/);
  for (const field of ['FIN', 'RSV1', 'opcode', 'MASK', 'Payload length', 'Masking key']) {
    assert.ok(detail.includes(field), field);
  }
  await screen.screenshot('fragments');
  await screen.paste('this is no hex!');
  await screen.page.waitForSelector('#error:visible');
  assert.match(await screen.text('#error'), /neither hex nor base64/);
}

/** What the Decoder itself says of the bytes of a client. */
function verdictOf(bytes) {
  let frames = 0;
  let fault = null;
  const decoder = new Decoder({
    role: 'server',
    onFrame: () => frames++,
    onError: (error) => {
      fault = error;
    }
  });
  // Byte by byte, as a test that knows nothing of frames would.
  for (const byte of bytes) decoder.write(Buffer.from([byte]));
  return { frames, fault };
}

async function badStreams(screen) {
  for (const { name, bytes, at, error } of BAD_CASES) {
    await screen.clear();
    await screen.page.selectOption('#from', 'client');
    await screen.paste(bytes.toString('hex'));
    await screen.page.waitForSelector(`#list .row[data-index="${at - 1}"]:visible`);
    await screen.select(at - 1);
    const verdict = await screen.verdict();
    const { fault } = verdictOf(bytes);
    assert.equal(fault.code, error, name);
    assert.ok(verdict.includes(`bad: ${fault.code}, close code ${fault.closeCode}`), `${name}: ${verdict}`);
    assert.ok(verdict.includes(fault.message), name);
    assert.match(verdict, /RFC \d+, section \d/, name);
    const rows = await screen.rows();
    const words = await screen.page.locator('#list .row:visible').evaluateAll((all) => all.map((row) => row.className));
    assert.equal(words.filter((word) => word.includes('bad')).length, 1, name);
    for (const [i, word] of words.entries()) assert.equal(word.includes('unread'), i >= at, `${name}, frame ${i + 1}`);
    assert.ok(rows.length >= at, name);
  }
  await screen.screenshot('bad-stream');
  return `${BAD_CASES.length} bad streams`;
}

async function records(screen) {
  const lines = await printRecords();
  await screen.paste(lines.join('\n'));
  await screen.waitForFrames(`${FRAMES} frames`);
  const rows = await screen.rows();
  assert.ok(rows.every((row) => row.ends === 'both'));
  await screen.select(1);
  const detail = await screen.detail();
  assert.match(detail, /sent\s+client\s+\d+ bytes/);
  assert.match(detail, /received\s+server\s+\d+ bytes/);
  assert.match(detail, /payload of \d+ bytes is not known/);
  await screen.screenshot('records');
  // The same from two files, one of each end.
  await screen.clear();
  const file = (role) => ({
    name: `${role}.jsonl`,
    mimeType: 'application/json',
    buffer: Buffer.from(lines.filter((line) => JSON.parse(line).role === role).join('\n'))
  });
  await screen.page.setInputFiles('#files', [file('server'), file('client')]);
  await screen.waitForFrames(`${FRAMES} frames`);
  await screen.page.waitForFunction(() => {
    const ends = [...document.querySelectorAll('#list .row .ends')].filter((each) => each.checkVisibility());
    return ends.length > 0 && ends.every(({ textContent }) => textContent === 'both');
  });
  return `${lines.length} records, ${FRAMES} frames`;
}

/** A second source waits for the first one, and one that cannot be sent says so. */
async function atOnce(screen, inspector) {
  const { page } = screen;
  const frame = Buffer.concat([Buffer.from('827f0000000000100000', 'hex'), Buffer.alloc(2 ** 20)]);
  const file = path.join(SCREENSHOTS, 'large.bin');
  fs.writeFileSync(file, Buffer.concat(Array(32).fill(frame)));
  await page.fill('#pasted', 'client: 8100 8100 8100');
  await page.setInputFiles('#files', file);
  await page.click('#paste button');
  await screen.waitForFrames('pasted: 3 frames');
  await screen.openSources();
  await page.setInputFiles('#files', file);
  await inspector.close();
  await page.waitForFunction(() => document.getElementById('files').value === '');
  assert.match(await screen.text('#error'), /Is it still running/);
  await screen.paste('8100');
  await page.waitForSelector('#error:visible');
}

/** More connections than a call has arguments. */
async function manyConnections(screen, inspector) {
  const record = {
    id: '',
    from: 'client',
    role: 'client',
    direction: 'sent',
    sequence: 1,
    opcode: 1,
    rsv: 0,
    length: 1
  };
  const lines = Array.from({ length: MANY }, (_, i) => JSON.stringify({ ...record, connection: `c${i}` }));
  await inspector.open({ data: Buffer.from(lines.join('\n')), name: 'many' });
  await screen.waitForFrames(`${MANY.toLocaleString('en')} frames`);
  assert.match(await screen.page.locator('#connection option').last().textContent(), /^and 129,000 more$/);
  await screen.filter({ connection: 999 });
  assert.deepEqual(
    (await screen.rows()).map(({ connection }) => connection),
    ['1000']
  );
}

module.exports = [
  { name: 'pasted hex and base64', run: (browser) => withScreen(browser, pasted) },
  { name: 'bad streams', run: (browser) => withScreen(browser, badStreams) },
  { name: 'two sources at once', run: (browser) => withScreen(browser, atOnce) },
  { name: 'many connections', run: (browser) => withScreen(browser, manyConnections) },
  { name: 'records of two ends', run: (browser) => withScreen(browser, records) }
];
