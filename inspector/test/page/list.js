'use strict';

// The list: many frames, the keyboard, a narrow window.

const assert = require('node:assert/strict');
const { encode } = require('../support/frames');
const { testScreen } = require('../support/screen');

const MANY = 100_000;

testScreen('many frames', async (screen) => {
  const { page } = screen;
  const bytes = encode('client', (encoder) => {
    for (let i = 0; i < MANY; i++) {
      if (i % 10 === 0) encoder.ping(`ping ${i}`);
      else encoder.text(`message ${i}`);
    }
  });
  await screen.openFiles({ 'many.bin': bytes });
  await screen.waitForFrames('100,000 frames');
  const drawn = await page.locator('#list .row').count();
  assert.ok(drawn < 100, `${drawn} rows are elements`);
  await page.focus('#list');
  await page.keyboard.press('End');
  await screen.waitForDetail(MANY - 1);
  assert.match(await screen.detail(), /message 99999/);
  for (let i = 0; i < 30; i++) await page.keyboard.press('PageUp');
  await screen.openFilters();
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
  await screen.drawn();
  assert.deepEqual(await screen.column('preview'), ['ping 42420']);
  await page.fill('#search', '');
  await screen.waitForFrames('many.bin: 100,000 frames');
  await screen.clear();
  await screen.drawn();
  assert.deepEqual(await screen.rows(), []);
});

testScreen('a frame is copied, and a link opens the same selection', async (screen) => {
  const { page } = screen;
  const copied = (name) => screen.copied(`#detail button:visible:text-is("${name}")`);
  await screen.openSample();
  await screen.select(4);
  assert.equal(await copied('payload'), '{"type":"accepted","id":1}');
  assert.equal(await copied('hex'), Buffer.from('{"type":"accepted","id":1}').toString('hex'));
  assert.match(await copied('frame'), /^c116[\da-f]{44}$/);
  assert.match(await copied('command'), /^node .*"ws:\/\/192\.0\.2\.1:8080\/chat"/);
  await page.selectOption('#connection', '0');
  await screen.openFilters();
  await page.uncheck('#opcode-9');
  await page.fill('#search', 'type');
  await screen.waitForFrames('7 of 25 frames');
  const link = await copied('link');
  const other = await page.context().newPage();
  await other.goto(link);
  await other.waitForSelector('#detail[data-index="4"]:visible');
  await other.waitForFunction(() => document.getElementById('status').textContent.endsWith(': 7 of 25 frames'));
  assert.deepEqual(
    await other.evaluate(() => ['search', 'connection'].map((id) => document.getElementById(id).value)),
    ['type', '0']
  );
  assert.ok(!(await other.isChecked('#opcode-9')));
  assert.equal(await other.textContent('#filters > summary'), 'Filters: 1');
  await other.close();
});

testScreen('a long message is shown up to a limit, and copied in full only', async (screen) => {
  const { page } = screen;
  const bytes = encode('client', (encoder) => {
    encoder.text('begin', { fin: false });
    encoder.continuation('x'.repeat(1.5 * 2 ** 20));
  });
  await screen.openFiles({ 'long.bin': bytes });
  await screen.waitForFrames('2 frames');
  await screen.select(0);
  const message = page.locator('[aria-label="Message"]');
  for (const length of [8192, 131_072, 262_144]) {
    if (length > 8192) await message.locator('text="Show more"').click();
    await message
      .locator('.hint', { hasText: `The first ${length.toLocaleString('en')} of 1,572,869 bytes.` })
      .waitFor();
  }
  assert.equal(await message.locator('text="Show more"').count(), 0, 'there is no more');
  await page.click('#detail button:text-is("payload")');
  await page.locator('#error:visible', { hasText: 'longer than 1048576 bytes' }).waitFor();
  await message.locator('button', { hasText: '2 continuation 1572864' }).click();
  await screen.waitForDetail(1);
});

testScreen('a drag on the timeline zooms, and the rows follow', async (screen) => {
  const { page } = screen;
  await screen.openSample();
  const { x, y, width } = await page.locator('#timeline').boundingBox();
  await page.mouse.move(x + width * 0.5, y + 20);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.7, y + 30, { steps: 4 });
  assert.ok(await page.isVisible('#chosen-range'));
  await page.mouse.up();
  await screen.waitForFrames('10 of 25 frames');
  const times = (await screen.column('time')).map(Number);
  assert.ok(Math.min(...times) > 700 && Math.max(...times) < 1100, times.join());
  await page.click('#zoom-out');
  await screen.waitForFrames('sample: 25 frames');
  await page.mouse.click(x + width - 2, y + 20);
  await screen.waitForDetail(23);
  await page.keyboard.press('+');
  await screen.waitForFrames('6 of 25 frames');
  assert.ok((await screen.rows()).length < 12);
  await page.keyboard.press('0');
  await screen.waitForFrames('sample: 25 frames');
  for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
  await screen.drawn();
  assert.deepEqual((await screen.column('fold')).join(''), '▾├│└');
  await page.keyboard.press('ArrowLeft');
  await screen.drawn();
  assert.deepEqual((await screen.column('fold')).join(''), '▸│');
});

testScreen('keyboard only', async (screen) => {
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
  await press('Escape', 'Home');
  await screen.waitForDetail(3);
  assert.equal(await page.inputValue('#search'), 'hex:03e8');
  await page.fill('#search', '');
  await screen.waitForFrames('4 frames');
  await press('Tab', 'Tab', 'Tab', 'Enter');
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
});

for (const colorScheme of ['light', 'dark']) {
  testScreen(
    `a window of 360 px, ${colorScheme}`,
    async (screen) => {
      await screen.checkWidth();
      await screen.checkContrast();
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
      await screen.unfold();
      for (const index of [0, 3, 5]) {
        await screen.select(index);
        await screen.checkWidth();
        await screen.checkContrast();
      }
      assert.ok(await screen.page.isHidden('#opcode-1'), 'the filters are folded');
      await screen.openFilters();
      await screen.page.uncheck('#opcode-1');
      assert.equal(await screen.text('#filters > summary'), 'Filters: 1');
      await screen.waitForFrames('3 of 6 frames');
      await screen.checkWidth();
      await screen.paste('81 0');
      await screen.page.waitForSelector('#error:visible');
      await screen.checkContrast();
      const back = await screen.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(back === 'rgb(255, 255, 255)', colorScheme === 'light', back);
    },
    { viewport: { width: 360, height: 740 }, colorScheme }
  );
}
