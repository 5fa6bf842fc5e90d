'use strict';

// Records of framemask:frame in the inspector: both ends of a connection are joined.

const { channel } = require('node:diagnostics_channel');
const t = require('tap');
const { Decoder, Encoder } = require('../../index.js');
const { detailOf } = require('../../inspector/lib/detail');
const { readSettings } = require('../../inspector/lib/live');
const { RecordReader, checkRecord, parseLines } = require('../../inspector/lib/records');
const { rowOf } = require('../../inspector/lib/rows');
const { Session } = require('../../inspector/lib/session');

const frames = channel('framemask:frame');

/** @returns {object[]} the records of what `work` does, as they come out of JSON */
function trace(work) {
  const records = [];
  const listen = (record) => records.push(JSON.parse(JSON.stringify(record)));
  frames.subscribe(listen);
  try {
    work();
  } finally {
    frames.unsubscribe(listen);
  }
  return records;
}

/** Both ends of a connection: the client sends, the server reads. */
function converse({ client, server }, send) {
  return trace(() => {
    const encoder = new Encoder({ role: 'client', trace: client });
    const decoder = new Decoder({ role: 'server', trace: server, onError: () => {} });
    send(encoder);
    for (const chunk of encoder.take()) decoder.write(chunk);
  });
}

function read(records) {
  const session = new Session();
  const reader = new RecordReader(session);
  for (const record of records) reader.add(record);
  return { session, reader };
}

const hello = (encoder) => {
  encoder.text('Hello');
  encoder.ping('x');
};

t.test('a connection that both ends call the same is one', (t) => {
  const records = converse({ client: { id: 'both' }, server: { id: 'both' } }, hello);
  t.equal(records.length, 4);
  for (const order of [records, [...records].reverse()]) {
    const { session } = read(order);
    t.equal(session.connections.length, 1);
    t.equal(session.frames.length, 2);
    for (const { ends } of session.frames) {
      t.equal(ends.sent.role, 'client');
      t.equal(ends.received.role, 'server');
    }
  }
  t.end();
});

t.test('two ends with a name each are joined by the key that they share', (t) => {
  const key = 'dGhlIHNhbXBsZSBub25jZQ==';
  const records = converse({ client: { id: 'c', key }, server: { id: 's', key } }, hello);
  t.equal(read(records).session.connections.length, 1);
  t.equal(read(records).session.frames.length, 2);
  t.end();
});

t.test('a key that several clients have joins only the first', (t) => {
  const key = 'dGhlIHNhbXBsZSBub25jZQ==';
  const { session } = read([
    ...converse({ client: { id: 'c', key }, server: { id: 's', key } }, hello),
    ...converse({ client: { id: 'c2', key }, server: { id: 's2', key } }, hello)
  ]);
  t.equal(session.connections.length, 3);
  t.match(session.notes.join(), /are not joined/);
  t.end();
});

t.test('ends without a common name stay apart', (t) => {
  const { session } = read(converse({ client: { id: 'c' }, server: { id: 's' } }, hello));
  t.equal(session.connections.length, 2);
  t.equal(session.frames.length, 4);
  t.end();
});

t.test('an error is the verdict on the frame that was sent', (t) => {
  const both = { client: { id: 'x' }, server: { id: 'x' } };
  const records = converse(both, (encoder) => {
    encoder.text('good');
    encoder.text(Buffer.from([0xff]));
  });
  const { session } = read(records);
  t.equal(session.frames.length, 2);
  t.match(session.frames[1], { opcode: 1, length: 1, fault: { code: 'FRAMEMASK_ERR_UTF8', closeCode: 1007 } });
  t.equal(session.frames[1].fault.rule.section, '8.1');
  t.equal(rowOf(session.frames[1])[11], 'UTF8');
  t.end();
});

t.test('the lines of two ends are put in the order of their ids', (t) => {
  const records = converse({ client: { id: 'x' }, server: { id: 'x' } }, hello);
  const lines = [...records].reverse().map((record) => JSON.stringify(record));
  t.same(
    parseLines(lines.join('\n')).map(({ id }) => id),
    records.map(({ id }) => id)
  );
  t.same(parseLines('\n{"id":\n'), [null]);
  t.end();
});

t.test('what is no record is refused and counted', (t) => {
  const [record] = converse({ client: { id: 'x' }, server: { id: 'x' } }, hello);
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
  for (const each of refused) t.equal(checkRecord(each), null, JSON.stringify(each));
  const { session, reader } = read(refused);
  t.equal(reader.refused, refused.length);
  t.equal(session.frames.length, 0);
  t.equal(checkRecord({ ...record, connection: 'x'.repeat(1e6) }).connection.length, 200);
  t.end();
});

t.test('a field of any type harms no other record', (t) => {
  const [record] = converse({ client: { id: 'x' }, server: { id: 'x' } }, hello);
  const error = { code: 'FRAMEMASK_ERR_CLOSE_CODE', closeCode: 1002, message: 'x', receivedCode: 999 };
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const values = ['{"toString":1,"valueOf":1}', deep, '1e400', '-1.5', 'true', 'null', '""', '"x"', '[]'].map(
    JSON.parse
  );
  for (const value of [...values, 'x'.repeat(1e6)]) {
    for (const base of [record, { ...record, error }]) {
      const changed = [
        ...Object.keys({ ...base, payload: '' }).map((name) => ({ ...base, [name]: value })),
        ...Object.keys(error).map((name) => ({ ...base, error: { ...error, [name]: value } }))
      ];
      const { session } = read([...changed, { ...record, connection: 'another', error: null }]);
      t.equal(session.connections.at(-1).name, 'another');
      for (const frame of session.frames) {
        const size = JSON.stringify([rowOf(frame), detailOf(session, frame.index, 100)]).length;
        if (size > 10_000) t.fail(`${size} characters of one frame`);
      }
    }
  }
  t.end();
});

t.test('payloads of records are kept up to a limit', (t) => {
  const records = converse({ client: { id: 'x' }, server: { id: 'x' } }, hello);
  const payload = Buffer.alloc(100).toString('base64');
  const session = new Session(() => {}, { maxKept: 150 });
  const reader = new RecordReader(session);
  for (const record of records) reader.add({ ...record, payload });
  t.same(
    session.frames.map(({ beginning }) => beginning?.length),
    [100, undefined]
  );
  t.match(session.notes, [/further ones are left out/]);
  t.equal(checkRecord({ ...records[0], payload: 'a'.repeat(1e6) }).beginning.buffer.byteLength, 64 * 1024);
  t.end();
});

t.test('records of framemask:message are passed over', (t) => {
  const { reader } = read([{ connection: 'x', fragments: 1, binary: true }]);
  t.equal(reader.refused, 0);
  t.end();
});

t.test('records are sent to this machine only, and payloads only where they are asked for', (t) => {
  const url = 'ws://127.0.0.1:7455/live?token=x';
  t.same(readSettings({ FRAMEMASK_INSPECTOR: url }), { url: new URL(url), payload: 0 });
  t.equal(readSettings({ FRAMEMASK_INSPECTOR: url, FRAMEMASK_INSPECTOR_PAYLOAD: '64' }).payload, 64);
  t.throws(() => readSettings({}), /not set/);
  t.throws(() => readSettings({ FRAMEMASK_INSPECTOR: 'ws://example.org/' }), /not an address of this machine/);
  t.throws(() => readSettings({ FRAMEMASK_INSPECTOR: 'http://127.0.0.1/' }), /no ws: address/);
  t.throws(() => readSettings({ FRAMEMASK_INSPECTOR: 'what' }), /no ws: address/);
  t.throws(() => readSettings({ FRAMEMASK_INSPECTOR: url, FRAMEMASK_INSPECTOR_PAYLOAD: 'all' }), /number of bytes/);
  t.throws(() => readSettings({ FRAMEMASK_INSPECTOR: url, FRAMEMASK_INSPECTOR_PAYLOAD: '65537' }), /number of bytes/);
  t.end();
});
