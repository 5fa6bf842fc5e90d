'use strict';

// Sources that are pasted and opened, as the page shows them.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { encode, rawFrame } = require('../support/frames');
const { FRAMES, printRecords } = require('../support/programs');
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
    await screen.waitForFrames('1 frames');
    await screen.paste(text);
    await screen.waitForFrames('7 frames');
    assert.ok(await screen.page.locator('.row.head .connection').isHidden(), 'there is one connection only');
    const opcodes = ['text', 'ping', 'continuation', 'ping', 'continuation', 'binary', 'close'];
    assert.deepEqual(await screen.column('opcode'), opcodes);
    assert.deepEqual(await screen.column('bracket'), ['┐', '│', '┤', '│', '┘', '', '']);
    const previews = await screen.column('preview');
    assert.deepEqual([previews[1], previews[6]], ['are you there?', '1000 bye']);
  }
  await screen.select(2);
  const detail = await screen.detail();
  for (const words of [/text of 13 bytes in 3 frames/, /Hello, Wörld/, /masking key [\da-f]{8}/]) {
    assert.match(detail, words);
  }
  for (const field of ['FIN', 'RSV1', 'opcode', 'MASK', 'Payload length', 'Masking key']) {
    assert.ok(detail.includes(field), field);
  }
  await screen.paste('this is no hex!');
  await screen.page.waitForSelector('#error:visible');
  assert.match(await screen.text('#error'), /neither hex nor base64/);
});

testScreen('a bad frame, and those after it', async (screen) => {
  await screen.page.selectOption('#from', 'client');
  const frames = [
    rawFrame(0x81, Buffer.from('one')),
    rawFrame(0xa1, Buffer.from('two')),
    rawFrame(0x89, Buffer.from(''))
  ];
  await screen.paste(Buffer.concat(frames).toString('hex'));
  await screen.waitForFrames('3 frames');
  assert.deepEqual(
    (await screen.column('classes')).map((classes) => /bad|unread/.exec(classes)?.[0]),
    [undefined, 'bad', 'unread']
  );
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
  const lines = await printRecords();
  const of = (role) => Buffer.from(lines.filter((line) => JSON.parse(line).role === role).join('\n'));
  await screen.openFiles({ 'server.jsonl': of('server'), 'client.jsonl': of('client') });
  await screen.waitForFrames(`${FRAMES} frames`);
  await screen.waitForBothEnds(FRAMES);
  await screen.select(0);
  assert.match(
    await screen.detail(),
    /payload of \d+ bytes is not known[\s\S]*sent\s+client\s+\d+ bytes[\s\S]*received\s+server\s+\d+ bytes/
  );
});

testScreen('a source waits for the one before it, and says if it cannot be sent', async (screen, inspector) => {
  const { page } = screen;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-inspector-'));
  try {
    const frame = Buffer.concat([Buffer.from('827f0000000000100000', 'hex'), Buffer.alloc(2 ** 20)]);
    const file = path.join(folder, 'large.bin');
    fs.writeFileSync(file, Buffer.concat(Array(32).fill(frame)));
    await page.fill('#pasted', 'client: 8100 8100 8100');
    await page.setInputFiles('#files', file);
    // The page may have shown the file already, and hidden the form.
    await page.$eval('#paste', (form) => form.requestSubmit());
    await screen.waitForFrames('pasted: 3 frames');
    await screen.openSources();
    await page.setInputFiles('#files', file);
    await inspector.close();
    await page.waitForFunction(() => document.getElementById('files').value === '');
    assert.match(await screen.text('#error'), /Is it still running/);
    await screen.paste('8100');
    await page.waitForSelector('#error:visible');
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

testScreen('more connections than a call has arguments', async (screen, inspector) => {
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
  assert.deepEqual(await screen.column('connection'), ['1000']);
});
