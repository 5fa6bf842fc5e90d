'use strict';

// The questions of GUIDE.md, answered on the page as it says, from visible elements.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { testScreen } = require('../support/screen');

const GUIDE = fs.readFileSync(path.join(__dirname, '../../GUIDE.md'), 'utf8').replace(/\s+/g, ' ');

/** Fails unless the guide says this, too. */
const says = (text) => assert.ok(GUIDE.includes(text), text);

testScreen('the guide: its answers are those of the sample', async (screen) => {
  const { page } = screen;
  await page.click('text="Open the sample"');
  await screen.waitForFrames('sample: 25 frames');
  const find = async (text, count) => {
    await page.fill('#search', text);
    await screen.waitForFrames(`${count} of 25 frames`);
    return screen.rows();
  };
  const selectRow = (text) => page.locator('#list .row:visible', { hasText: text }).first().click();

  // 1
  await find('anybody', 1);
  await selectRow('message');
  await page.locator('#detail pre.text:visible', { hasText: 'Has anybody seen the new frames?' }).waitFor();
  const [text, hex] = await page.locator('[aria-label="Message"] pre:visible').all();
  assert.match(await text.textContent(), /^\{\n {2}"type": "message",\n[\s\S]*\n {4}"name": "Ada",\n/);
  assert.match(await hex.textContent(), /^0000 {2}7b 22 74 79 70 65 22 3a {2}\{"type":\n/);
  const [left, right] = [await text.boundingBox(), await hex.boundingBox()];
  assert.ok(right.x >= left.x + left.width && right.y === left.y, 'the bytes are beside the text');
  await page.click('#detail summary');
  const heads = await page.locator('#detail details pre:visible').allTextContents();
  assert.match(heads[0], /^GET \/chat HTTP\/1\.1\r?\n[\s\S]*Sec-WebSocket-Extensions: permessage-deflate/);
  assert.match(heads[1], /^HTTP\/1\.1 101 /);
  // 2
  const [refusal] = await find('1009', 2);
  assert.equal(refusal.preview, '1009 At most 65536 bytes, please');
  await selectRow('At most');
  await page.fill('#search', '');
  await screen.waitForFrames('sample: 25 frames');
  const rows = await screen.rows();
  const at = rows.findIndex(({ isSelected }) => isSelected);
  const [before, , after] = rows.slice(at - 1, at + 2);
  assert.deepEqual([before.length, before.sender, after.preview], ['70,446', '↑ client', '1009']);
  says(`The client sent ${before.length} bytes, \`${before.preview.slice(0, 36)}…`);
  // 3
  await page.focus('#list');
  await page.keyboard.press('Home');
  await page.keyboard.press('n');
  await page.locator('.verdict.bad:visible', { hasText: 'RESERVED_BITS' }).waitFor();
  assert.match(await screen.verdict(), /RFC 6455, section 5\.2/);
  // 4
  const { marks, fold, length, preview } = rows.find((row) => row.fold === '▸');
  assert.deepEqual([marks, fold, length], ['3 frames', '▸', '69']);
  assert.equal(preview, 'Once upon a time, a message was so long that it came in three frames.');
  await page.keyboard.press('Home');
  await screen.unfold();
  assert.equal((await screen.column('fold')).join(''), '▾├│└');
  // 5
  for (const size of ['109 → 155', '45 → 43']) {
    assert.equal(rows.find((row) => row.length === size)?.marks, 'deflate', size);
    says(size);
  }
  assert.match(rows.find(({ opcode }) => opcode === 'binary').preview, /^89 50 4e 47 /);
  // 6
  const times = rows.map(({ time }) => time);
  for (const time of ['424.00', '429.00']) assert.ok(times.includes(time), times.join());
  const gap = Number(times[times.indexOf('994.00') + 1]) - 994;
  says(`for ${gap} ms after 994 ms`);
  // 7
  const connections = await page.locator('#connection option').allTextContents();
  assert.deepEqual(
    connections.slice(1).map((text) => text.replace(/^○ \d: \S+ → \S+ \S+, closed /, '')),
    ['1000', '1009', '1002']
  );
  says('1000, 1009, 1002');
  // 8
  await screen.openSources();
  assert.ok(await page.isVisible('text="Copy"'));
});
