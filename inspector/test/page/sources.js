'use strict';

// Sources that are pasted and opened, as the page shows them.

const assert = require('node:assert/strict');
const { encode, rawFrame } = require('../support/frames');
const { RECORD } = require('../support/programs');
const { testScreen } = require('../support/screen');

const MANY = 130_000;

testScreen('pasted hex and base64', async (screen) => {
  const bytes = encode('client', (encoder) => {
    encoder.text('Hello', { fin: false });
    encoder.ping('are you there?');
    encoder.continuation(', ', { fin: false });
    encoder.ping();
    encoder.continuation('Wörld');
    encoder.binary(Buffer.alloc(300, 7));
    encoder.close(1000, 'bye');
  });
  for (const text of [bytes.toString('hex'), bytes.toString('base64')]) {
    await screen.paste('89 80 00000000');
    await screen.waitForFrames('1 frame');
    await screen.paste(text);
    await screen.waitForFrames('7 frames');
    assert.ok(await screen.page.locator('.row.head .connection').isHidden(), 'there is one connection only');
    const hex = '07 '.repeat(26).trim();
    for (const [isFolded, opcodes, folds, previews] of [
      [true, 'text ping ping binary close', '▸││', ['Hello, Wörld', 'are you there?', '', hex, '1000 bye']],
      [false, 'text ping cont. ping cont. binary close', '▾│├│└', ['Hello', 'are you there?', ', ', '', 'Wörld']]
    ]) {
      if (!isFolded) await screen.unfold();
      assert.equal((await screen.column('opcode')).join(' '), opcodes);
      assert.equal((await screen.column('fold')).join(''), folds);
      assert.deepEqual((await screen.column('preview')).slice(0, previews.length), previews);
      assert.equal((await screen.column('length'))[0], isFolded ? '13' : '5');
    }
  }
  await screen.select(2);
  const detail = await screen.detail();
  for (const words of [/text of 13 bytes in 3 frames/, /Hello, Wörld/, /Masked by the key [\da-f]{8}/]) {
    assert.match(detail, words);
  }
  for (const field of ['FIN', 'RSV1', 'opcode', 'MASK', 'Payload length', 'Masking key']) {
    assert.ok(detail.includes(field), field);
  }
  await screen.paste('client: 8100\nserver: 81 0z 00');
  await screen.page.waitForSelector('#error:visible');
  assert.match(await screen.text('#error'), /not hex: line 2, character 13\nserver: 81 0z 00\n {12}\^/);
  const chosen = await screen.page.evaluate(() => globalThis.getSelection().toString());
  assert.equal(chosen, 'z');
});

testScreen('files that are dropped', async (screen) => {
  await screen.page.evaluate(() => {
    const dataTransfer = new DataTransfer();
    const fire = (type) =>
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    dataTransfer.setData('text/plain', '8100');
    if (!fire('dragover')) throw new Error('a text is not left to the field that it is dropped on');
    dataTransfer.items.add(new File(['client: 8100 8900'], 'dropped.txt'));
    if (fire('dragover')) throw new Error('a drop is not allowed here');
    fire('drop');
  });
  await screen.waitForFrames('dropped.txt: 2 frames');
});

testScreen('a bad frame, and those after it', async (screen) => {
  await screen.page.selectOption('#from', 'client');
  const frames = [rawFrame(0x81, 'one'), rawFrame(0xa1, 'two'), rawFrame(0x89, '')];
  await screen.paste(Buffer.concat(frames).toString('hex'));
  await screen.waitForFrames('3 frames');
  const states = (await screen.column('classes')).map((classes) => classes.split(' ').at(-1));
  assert.deepEqual(states, ['good', 'bad', 'unread']);
  await screen.select(1);
  const verdict = await screen.verdict();
  assert.match(
    verdict,
    /^bad: FRAMEMASK_ERR_RESERVED_BITS, close code 1002\n[\s\S]*MUST be 0[\s\S]*RFC 6455, section 5\.2/
  );
  await screen.select(2);
  assert.match(await screen.verdict(), /^not read\n[\s\S]*ended with frame 2 of the client[\s\S]*section 7\.1\.7/);
});

testScreen('records of two ends, from a file each', async (screen) => {
  const ends = [
    ['client.jsonl', { direction: 'sent' }],
    ['server.jsonl', { direction: 'received', role: 'server', connection: 'y' }]
  ].map(([name, own]) => {
    const records = [1, 2, 3].map((sequence) => JSON.stringify({ ...RECORD, key: 'k', sequence, ...own }));
    return [name, Buffer.from(records.join('\n'))];
  });
  await screen.openFiles(Object.fromEntries(ends));
  await screen.waitForFrames('3 frames');
  await screen.page.locator('#list .ends', { hasText: 'both' }).nth(2).waitFor();
  await screen.select(0);
  assert.match(
    await screen.detail(),
    /payload of 1 byte is not known[\s\S]*sent\s+client\s+1 byte\s[\s\S]*received\s+server\s+1 byte\s/
  );
});

testScreen('a source waits for the one before it, and says if it cannot be sent', async (screen, inspector) => {
  const { page } = screen;
  const frame = Buffer.concat([Buffer.from('827f0000000000100000', 'hex'), Buffer.alloc(2 ** 20)]);
  const large = { 'large.bin': Buffer.concat(Array(32).fill(frame)) };
  await page.fill('#pasted', 'client: 8100 8100 8100');
  await screen.openFiles(large);
  // The page may have shown the file already, and hidden the form.
  await page.$eval('#paste', (form) => form.requestSubmit());
  await screen.waitForFrames('pasted: 3 frames');
  await screen.openSources();
  await screen.openFiles(large);
  await inspector.close();
  await page.waitForFunction(() => document.getElementById('files').value === '');
  assert.match(await screen.text('#error'), /Is it still running/);
  await screen.paste('8100');
  await page.waitForSelector('#error:visible');
  for (const text of screen.errors.splice(0)) assert.match(text, /^Failed to load resource: net::ERR_/);
});

testScreen('more connections than a call has arguments', async (screen, inspector) => {
  const lines = Array.from({ length: MANY }, (_, i) => JSON.stringify({ ...RECORD, sequence: 1, connection: `c${i}` }));
  await screen.page.evaluate(() => {
    const progress = document.getElementById('progress');
    globalThis.seen = [];
    const note = () => progress.checkVisibility() && globalThis.seen.push([progress.value, status.textContent]);
    const status = document.getElementById('status');
    new MutationObserver(note).observe(progress, { attributes: true });
  });
  await inspector.open({ data: Buffer.from(lines.join('\n')), name: 'many' });
  await screen.waitForFrames(`${MANY.toLocaleString('en')} frames`);
  await screen.page.waitForSelector('#progress', { state: 'hidden' });
  const seen = await screen.page.evaluate(() => globalThis.seen);
  assert.ok(new Set(seen.map(([part]) => part)).size > 3, 'the progress is shown');
  assert.ok(
    seen.some(([part, status]) => part < 0.9 && /[1-9]\S* frames/.test(status)),
    'and rows before the end'
  );
  assert.match(await screen.page.locator('#connection option').last().textContent(), /^and 129,000 more$/);
  await screen.filter({ connection: 999 });
  assert.deepEqual(await screen.column('connection'), ['● 1000']);
});
