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
  // 2
  const [refusal] = await find('1009', 2);
  assert.equal(refusal.preview, '1009 At most 65536 bytes, please');
  await selectRow('At most');
  await page.fill('#search', '');
  await screen.waitForFrames('sample: 25 frames');
  const rows = await screen.rows();
  const at = await page.locator('#list .row:visible').evaluateAll((all) => {
    const shown = all.sort((a, b) => Number(a.dataset.index) - Number(b.dataset.index));
    return shown.findIndex((row) => row.getAttribute('aria-selected') === 'true');
  });
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
  await page.keyboard.press('Home');
  await screen.unfold();
  assert.equal((await screen.column('fold')).join(''), '▾├│└');
  // 5
  const sizes = rows.map(({ length }) => length);
  for (const size of ['109 → 155', '45 → 43']) {
    assert.ok(sizes.includes(size), sizes.join());
    says(size);
  }
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
