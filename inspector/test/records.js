'use strict';

// Records of framemask:frame: both ends of a connection are joined, and nothing in a record is
// trusted.

const assert = require('node:assert/strict');
const { channel } = require('node:diagnostics_channel');
const { test } = require('node:test');
const { Decoder, Encoder, acceptDeflate } = require('framemask');
const { detailOf } = require('../lib/detail');
const { readSettings } = require('../lib/live');
const { parseFrames, unmasked } = require('../lib/parse-frames');
const { RecordReader, frameOf, sortedLines } = require('../lib/records');
const { rowOf } = require('../lib/rows');
const { Session } = require('../lib/session');

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const frames = channel('framemask:frame');

const hello = (encoder) => {
  encoder.text('Hello');
  encoder.ping('x');
};

/** @returns {object[]} the records of both ends of a connection, as they come out of JSON */
function converse({ client, server = client }, send = hello) {
  const records = [];
  const listen = (record) => records.push(JSON.parse(JSON.stringify(record)));
  frames.subscribe(listen);
  try {
    const encoder = new Encoder({ role: 'client', trace: client });
    const decoder = new Decoder({ role: 'server', trace: server, onError: () => {} });
    send(encoder);
    for (const chunk of encoder.take()) decoder.write(chunk);
  } finally {
    frames.unsubscribe(listen);
  }
  return records;
}

function read(records, session = new Session()) {
  const reader = new RecordReader(session);
  for (const record of records) reader.add(record);
  return { session, reader, counts: [session.connections.length, session.frames.length] };
}

test('a connection that both ends call the same is one, in either order', () => {
  const records = converse({ client: { id: 'both' } });
  assert.equal(records.length, 4);
  for (const order of [records, [...records].reverse()]) {
    const { session, counts } = read(order);
    assert.deepEqual(counts, [1, 2]);
    for (const { ends } of session.frames) {
      assert.deepEqual([ends.sent.role, ends.received.role], ['client', 'server']);
    }
  }
});

test('ends with a name each are joined by their key, if it is that of one client only', () => {
  const first = converse({ client: { id: 'c', key: KEY }, server: { id: 's', key: KEY } });
  assert.deepEqual(read(first).counts, [1, 2]);
  const second = converse({ client: { id: 'c2', key: KEY }, server: { id: 's2', key: KEY } });
  const { session, counts } = read([...first, ...second]);
  assert.equal(counts[0], 3);
  assert.match(session.notes.join(), /are not joined/);
  assert.deepEqual(read(converse({ client: { id: 'c' }, server: { id: 's' } })).counts, [2, 4], 'without a key');
});

const HANDSHAKE = { role: 'server', key: KEY, host: 'chat.example:8080', path: '/a', client: '192.0.2.7:5000' };

test('a program names the address of a connection by its handshake, and its end', () => {
  const records = converse({ client: { id: 'c', key: KEY }, server: { id: 's', key: KEY } });
  const first = { ...HANDSHAKE, handshake: '1' };
  const second = { ...HANDSHAKE, handshake: '2', path: '/hostile' };
  for (const order of [
    [first, second, ...records],
    [...records, first, second]
  ]) {
    const { session, reader, counts } = read([...order, { closed: '2' }]);
    assert.deepEqual([counts[0], reader.refused], [1, 0]);
    const [{ name, url, isOpen }] = session.connections;
    assert.deepEqual([name, url], ['192.0.2.7:5000 → chat.example:8080 /a', 'ws://chat.example:8080/a']);
    assert.equal(isOpen, true, 'a client chose the key of another');
    reader.add({ closed: '1' });
    assert.equal(session.connections[0].isOpen, false);
  }
});

test('an error is the verdict on the frame that was sent', () => {
  const records = converse({ client: { id: 'x' } }, (encoder) => {
    encoder.text('good');
    encoder.text(Buffer.from([0xff]));
  });
  const { frames } = read(records).session;
  assert.equal(frames.length, 2);
  const { opcode, length, fault } = frames[1];
  assert.deepEqual(
    [opcode, length, fault.code, fault.closeCode, fault.rule.section, rowOf(frames[1])[10]],
    [1, 1, 'FRAMEMASK_ERR_UTF8', 1007, '8.1', 'UTF8']
  );
});

test('the lines of two ends are put in the order of their ids', () => {
  const records = converse({ client: { id: 'x' } });
  const lines = [...records].reverse().map((record) => JSON.stringify(record));
  const idOf = ({ id }) => id;
  const valuesOf = (text) => [...sortedLines(text)].map(({ value }) => value);
  for (const order of [lines, [...lines].reverse()]) {
    assert.deepEqual(valuesOf(order.join('\n')).map(idOf), records.map(idOf));
  }
  assert.deepEqual(valuesOf('\n{"id":\n'), [null]);
});

test('other values are refused and counted, those of framemask:message are passed over', () => {
  const [record] = converse({ client: { id: 'x' } });
  const refused = [
    null,
    7,
    [],
    {},
    { ...record, from: 'nobody' },
    { ...record, opcode: 16 },
    { ...record, length: -1 },
    { ...record, sequence: 1.5 },
    { ...record, connection: {} },
    { ...record, direction: 'sideways' }
  ];
  for (const each of refused) assert.equal(frameOf(each), null, JSON.stringify(each));
  const { reader, counts } = read([...refused, { connection: 'x', fragments: 1, binary: true }]);
  assert.deepEqual([reader.refused, ...counts], [refused.length, 0, 0]);
  const [{ name }] = read([{ ...record, connection: 'x'.repeat(1e6) }]).session.connections;
  assert.equal(name.length, 200);
});

test('a field of any type harms no other record', () => {
  const [record] = converse({ client: { id: 'x' } });
  const error = { code: 'FRAMEMASK_ERR_CLOSE_CODE', closeCode: 1002, message: 'x', receivedCode: 999 };
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const texts = ['{"toString":1,"valueOf":1}', deep, '1e400', '-1.5', 'true', 'null', '""', '"x"', '[]'];
  for (const value of [...texts.map(JSON.parse), 'x'.repeat(1e6)]) {
    for (const base of [record, { ...record, error }, { ...HANDSHAKE, handshake: 'x' }, { closed: 'x' }]) {
      const changed = [
        ...Object.keys({ ...base, payload: '' }).map((name) => ({ ...base, [name]: value })),
        ...Object.keys(error).map((name) => ({ ...base, error: { ...error, [name]: value } }))
      ];
      const { session } = read([...changed, { ...record, connection: 'another', error: null }]);
      assert.equal(session.connections.at(-1).name, 'another');
      for (const frame of session.frames) {
        const size = JSON.stringify([rowOf(frame), detailOf(session, frame.index, 100)]).length;
        assert.ok(size <= 10_000, `${size} characters of one frame`);
      }
    }
  }
});

test('RFC 7692: compressed messages of records are inflated, as far as their bytes are there', () => {
  const options = { contextTakeover: true, threshold: 0, threadPoolFrom: Infinity };
  const deflate = acceptDeflate('permessage-deflate', options);
  const texts = ['{"user":"ada","say":"hello"}', '{"user":"ada","say":"hello again"}', 'x'.repeat(500)];
  const encoder = new Encoder({ role: 'server', deflate });
  for (const text of texts) encoder.text(text);
  const record = { connection: 'x', from: 'server', role: 'server', direction: 'sent', masked: false };
  const sent = [...parseFrames(Buffer.concat(encoder.take()))].map((frame, i) => {
    const { opcode, fin, rsv, length } = frame;
    const payload = unmasked(frame).toString('base64');
    return { ...record, sequence: i + 1, opcode, fin, rsv, length, payload };
  });
  const said = (records) => read(records).session.frames.map(({ message }) => message?.inflated?.toString());
  assert.deepEqual(said(sent), texts);
  const [first, second, third] = sent;
  assert.deepEqual(said([second, third]), [undefined, texts[2]], 'the second refers to the first, which is missing');
  assert.deepEqual(said([first, { ...second, sequence: 3 }]), [texts[0], undefined]);
  const cut = { ...first, payload: Buffer.from(first.payload, 'base64').subarray(0, 20).toString('base64') };
  const [beginning, next] = said([cut, second]);
  assert.ok(beginning.length > 5 && texts[0].startsWith(beginning), beginning);
  assert.equal(next, undefined);
  const end = { ...second, opcode: 0, rsv: 0, sequence: 3 };
  assert.deepEqual(said([{ ...first, fin: false }, end]), [undefined, undefined], 'a fragment is missing');
});

test('payloads of records are kept up to a limit', () => {
  const records = converse({ client: { id: 'x' } });
  const payload = Buffer.alloc(100).toString('base64');
  const { session } = read(
    records.map((record) => ({ ...record, payload })),
    new Session(undefined, { maxKept: 150 })
  );
  const lengths = session.frames.map(({ beginning }) => beginning?.length);
  assert.deepEqual(lengths, [100, undefined]);
  assert.match(session.notes.join(), /further ones are left out/);
  assert.equal(frameOf({ ...records[0], payload: 'a'.repeat(1e6) }).beginning.buffer.byteLength, 64 * 1024);
});

test('records are sent to this machine only, and payloads only where they are asked for', () => {
  const FRAMEMASK_INSPECTOR = 'ws://127.0.0.1:7455/live?token=x';
  assert.deepEqual(readSettings({ FRAMEMASK_INSPECTOR }), { url: new URL(FRAMEMASK_INSPECTOR), payload: 0 });
  assert.equal(readSettings({ FRAMEMASK_INSPECTOR, FRAMEMASK_INSPECTOR_PAYLOAD: '64' }).payload, 64);
  for (const [env, message] of [
    [{}, /not set/],
    [{ FRAMEMASK_INSPECTOR: 'ws://example.org/' }, /not an address of this machine/],
    [{ FRAMEMASK_INSPECTOR: 'http://127.0.0.1/' }, /no ws: address/],
    [{ FRAMEMASK_INSPECTOR: 'what' }, /no ws: address/],
    [{ FRAMEMASK_INSPECTOR, FRAMEMASK_INSPECTOR_PAYLOAD: 'all' }, /number of bytes/],
    [{ FRAMEMASK_INSPECTOR, FRAMEMASK_INSPECTOR_PAYLOAD: '65537' }, /number of bytes/]
  ]) {
    assert.throws(() => readSettings(env), message);
  }
});
