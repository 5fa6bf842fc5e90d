'use strict';

// Captures, as tshark reads them and the page shows them. captures/README.md says how they were
// made.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { gunzipSync } = require('node:zlib');
const { MISSING } = require('../../lib/capture');
const { State } = require('../../lib/judge');
const { decode } = require('../support/frames');
const { RECORD, connectLive } = require('../support/programs');
const { testScreen } = require('../support/screen');

const FOLDER = path.join(__dirname, '../captures');
const read = (name) => gunzipSync(fs.readFileSync(path.join(FOLDER, `${name}.pcap.gz`)));
const open = (screen, name) => screen.openFiles({ [`${name}.pcap`]: read(name) });

for (const kind of ['plain', 'compressed']) {
  testScreen(`capture: ${kind} traffic`, async (screen) => {
    await open(screen, kind);
    await screen.waitForFrames('11 frames');
    await screen.unfold();
    const rows = await screen.rows();
    const of = (sender) => rows.filter((row) => row.sender.includes(sender)).map(({ opcode }) => opcode);
    assert.deepEqual(of('cli'), ['text', 'text', 'ping', 'cont.', 'text', 'close']);
    assert.deepEqual(of('server'), ['text', 'pong', 'text', 'text', 'close']);
    for (const { time, classes } of rows) {
      assert.match(time, /^\d+\.\d\d$/);
      assert.doesNotMatch(classes, /bad|unread|incomplete/);
    }
    await screen.select(rows.findIndex(({ opcode }) => opcode === 'cont.'));
    assert.match(await screen.detail(), /fragment and the rest/);
    assert.match(await screen.detail(), new RegExp(`→ 127\\.0\\.0\\.1:\\d+ /${kind}`));
    await screen.page.fill('#search', 'from the wire');
    await screen.waitForFrames('2 of 11 frames');
    await screen.select(0);
    if (kind === 'compressed') {
      assert.match(await screen.detail(), /compressed, inflated 19 bytes[\s\S]*Hello from the wire/);
    }
  });
}

/** What networks do to segments, and loopback does not. */
testScreen('capture: segments in another order, overlapping, missing and cut', async (screen) => {
  for (const [name, previews, note, count = previews.length] of [
    ['reordered', ['one', 'two', 'three'], null],
    ['gap', ['one'], /bytes of the client are missing after byte/],
    ['beginning-missing', [], /4 bytes of the client are missing after byte/],
    ['short', ['one'], /4 bytes of the client are missing after byte/, 2],
    ['late', ['from the server', 'one'], /began before the capture/]
  ]) {
    await open(screen, name);
    await screen.waitForFrames(`${name}.pcap: ${count} frame${count === 1 ? '' : 's'}`);
    assert.deepEqual((await screen.column('preview')).slice(0, previews.length), previews, name);
    if (note !== null) await screen.page.locator('#notes', { hasText: note }).waitFor();
  }
});

testScreen(
  'capture: Autobahn|Testsuite has the Decoder’s verdicts, and the answers of the server',
  async (screen, inspector) => {
    await open(screen, 'autobahn');
    // The page empties the field once all of the file is read.
    await screen.page.waitForFunction(() => document.getElementById('files').value === '');
    const { connections, frames } = inspector.session;
    let count = 0;
    for (const [index, { client, server }] of connections.entries()) {
      for (const end of ['client', 'server']) {
        const sent = frames.filter(({ connection, from }) => connection === index && from === end);
        const { fault } = decode(end, Buffer.concat(sent.map(({ parsed }) => parsed.bytes)), 13);
        const bad = sent.filter(({ state }) => state === State.BAD);
        const faults = bad.map(({ fault: { code, closeCode } }) => ({ code, closeCode }));
        assert.deepEqual(faults, fault === null ? [] : [fault]);
      }
      if (client.end?.state !== State.BAD) continue;
      count++;
      assert.equal(server.close.parsed.bytes.readUInt16BE(2), client.end.fault.closeCode);
    }
    assert.ok(count >= 40, `${count} bad cases`);
    await screen.page.selectOption('#verdict', '1');
    await screen.waitForFrames(`${count} of ${frames.length} frames`);
  }
);

testScreen('capture: exported, filtered, and opened again', async (screen) => {
  const { page } = screen;
  const save = async (...formats) => {
    const files = formats.map(async (format) => {
      const file = await page.waitForEvent('download', (each) => each.suggestedFilename().endsWith(format));
      return [file.suggestedFilename(), fs.readFileSync(await file.path())];
    });
    // At once: neither is mixed with the other.
    await page.$$eval(formats.map((format) => `#export-part [value="${format}"]`).join(), (buttons) => {
      for (const button of buttons) button.click();
    });
    return Promise.all(files);
  };
  await screen.openSample();
  const previews = await screen.column('preview');
  for (const [name, bytes] of await save('jsonl', 'pcapng')) {
    await screen.openFiles({ [name]: bytes });
    await screen.waitForFrames(`${name}: 25 frames`);
    assert.deepEqual(await screen.column('preview'), previews);
  }
  await screen.openSample();
  await page.fill('#search', 'three frames');
  await screen.waitForFrames('3 of 25 frames');
  await screen.openFiles(Object.fromEntries(await save('pcapng')));
  await page.fill('#search', '');
  await screen.waitForFrames('sample.pcapng: 3 frames');
  assert.deepEqual(await screen.column('marks'), ['3 frames']);
});

testScreen('capture: encrypted, with the log of its keys before it or after it', async (screen) => {
  const files = { 'tls.pcap': read('tls'), 'tls.keys': gunzipSync(fs.readFileSync(path.join(FOLDER, 'tls.keys.gz'))) };
  await screen.openFiles({ 'tls.pcap': files['tls.pcap'] });
  await screen.page.locator('#notes:visible', { hasText: /1 TCP connection of TLS.*SSLKEYLOGFILE/ }).waitFor();
  for (const order of [['tls.keys'], ['tls.keys', 'tls.pcap'], ['tls.pcap', 'tls.keys']]) {
    await screen.openFiles(Object.fromEntries(order.map((name) => [name, files[name]])));
    await screen.waitForFrames('tls.pcap: 6 frames');
    assert.equal((await screen.column('preview'))[0], '{"hello":"over TLS"}');
    assert.ok((await screen.column('marks')).slice(0, 4).every((mark) => mark === 'deflate'));
    await screen.page.waitForSelector('#error', { state: 'hidden' });
    await screen.clear();
  }
  await screen.openFiles({ 'tls.keys': files['tls.keys'] });
  await screen.page.locator('#error:visible', { hasText: 'log of TLS keys' }).waitFor();
});

testScreen('capture: cleared while tshark reads it, then a program sends records', async (screen, inspector) => {
  const live = await connectLive(inspector);
  const send = (sequence) => live.sendRecords([{ ...RECORD, sequence }]);
  const opened = inspector.open({ data: read('reordered'), name: 'reordered.pcap' });
  await screen.waitForFrames('reordered.pcap: 0 frames');
  inspector.clear();
  send(1);
  await screen.waitForFrames('live: 1 frame');
  await opened;
  send(2);
  await screen.waitForFrames('live: 2 frames');
  live.close();
});

// The last one here: it leaves its setting.
testScreen('capture: without tshark', async (screen) => {
  process.env.TSHARK = '/nowhere/tshark';
  await open(screen, 'gap');
  await screen.page.waitForSelector('#error:visible');
  assert.equal(await screen.text('#error'), MISSING);
});
