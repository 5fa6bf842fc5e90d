'use strict';

// Sources that can be opened: pasted text, bytes, handshakes, records of two ends.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { acceptDeflate, Encoder } = require('framemask');
const { streamsFromText } = require('../lib/bytes-from-text');
const { detailOf } = require('../lib/detail');
const { connectionOf } = require('../lib/handshake');
const { search } = require('../lib/search');
const { SegmentList } = require('../lib/segments');
const { MAX_FRAMES, Place, Session } = require('../lib/session');
const { open } = require('../lib/sources');
const { addStreams, joinPieces } = require('../lib/streams');

const { countMoved } = require('../../test/support/count-moved');
const { RECORD } = require('./support/programs');

const ANSWER = 'HTTP/1.1 101 x\r\nUpgrade: websocket\r\n';
const DEFLATE = 'permessage-deflate; server_no_context_takeover; client_no_context_takeover';
const HELLO = '818537fa213d7f9f4d5158';

/** @returns {Promise<Session>} a session with the frames of `data` */
async function opened(data, from, session = new Session()) {
  await open(session, { data: Buffer.from(data), name: 'test', from });
  return session;
}

const hexOf = (...args) => streamsFromText(...args)[0].bytes.toString('hex');
const find = (session, query) => search(session, query, () => true);

test('hex is read in the ways in which it is written, and base64', () => {
  for (const text of [
    HELLO,
    HELLO.toUpperCase(),
    '81 85 37 fa 21 3d 7f 9f 4d 51 58',
    '0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58',
    '\\x81\\x85\\x37\\xfa\\x21\\x3d\\x7f\\x9f\\x4d\\x51\\x58',
    '81:85:37:fa:21:3d:7f:9f:4d:51:58\n',
    '00000000  81 85 37 fa 21 3d 7f 9f  4d 51 58                 |..7.!=..MQX|\n0000000b\n',
    '00000000: 8185 37fa 213d 7f9f 4d51 58              ..7.!=..MQX\n',
    '0000   81 85 37 fa 21 3d 7f 9f 4d 51 58                  ..7.!=..MQX\n',
    '818537fa 213d7f9f 4d5158',
    'gYU3+iE9f59NUVg=',
    'gYU3-iE9f59N\nUVg'
  ]) {
    assert.equal(hexOf(text), HELLO, text);
  }
  assert.equal(hexOf('abcd', 'base64'), '69b71d');
  assert.equal(hexOf('gAAA = =\n', 'base64'), '800000');
  // With a pattern that looks ahead, this would take hours.
  assert.equal(hexOf(`gAAA${'='.repeat(2 ** 22)}`, 'base64'), '800000');
  for (const [text, at, message, format] of [
    ['81 85 37 zz 21', 9, /not hex: line 1, character 10\n81 85 37 zz 21\n {9}\^$/],
    ['818537fa213d7f9f4d51g8', 20, /not hex/], // base64, but for the reader
    ['client: 81\r\n80 00\nserver: 81?0', 28, /nor base64: line 3, character 11\nserver: 81\?0\n {10}\^$/],
    ['gAAA=A==', 4, /neither hex nor base64/],
    ['hello world, this is no hex!', 11, /neither hex nor base64: line 1, character 12/],
    [`${' '.repeat(1000)}81 8x`, 1004, /\n {26}81 8x\n {30}\^$/],
    ['81 8', 4, /odd number of digits: line 1, character 5/],
    ['xyz', 0, /not hex/, 'hex']
  ]) {
    assert.throws(() => streamsFromText(text, format), { at, message }, text);
  }
});

test('lines say which end has sent the bytes', () => {
  const streams = streamsFromText('client: 81 80 00000000\n8a 00\nserver: 8100\n> 8900\n< 8a00\nC: 01\nS: 02');
  assert.deepEqual(
    streams.map(({ from, bytes }) => `${from} ${bytes.toString('hex')}`),
    ['client 8180000000008a00', 'server 8100', 'client 8900', 'server 8a00', 'client 01', 'server 02']
  );
  assert.equal(streamsFromText('CgVIZWxsbw==')[0].from, null, 'base64 that begins like a name');
});

test('5.4: fragments are one message, and control frames lie between them', async () => {
  const session = await opened('010161 8900 000162 800163 8a00', 'server');
  const { FIRST, INSIDE, MIDDLE, LAST, APART } = Place;
  const places = session.frames.map(({ place }) => place);
  assert.deepEqual(places, [FIRST, INSIDE, MIDDLE, LAST, APART]);
  const { message, header, payload } = detailOf(session, 3, 100);
  const names = message.frames.map(({ name }) => name);
  assert.deepEqual(names, ['text', 'ping', 'continuation', 'continuation']);
  assert.deepEqual([Buffer.from(message.bytes, 'base64').toString(), message.complete], ['abc', true]);
  assert.deepEqual([header.hex, payload.masked], ['8001', null]);
  assert.equal(detailOf(session, 5, 100), null);
  assert.equal(detailOf(session, 2, -5).payload.unmasked, '');
});

test('a search finds text across fragments, bytes, errors and opcodes', async () => {
  const session = await opened('client: 0182 00000000 4845 808300000000 4c6c6f 8900\nserver: 82020aff 880203e9');
  for (const [query, found] of [
    ['hello', [0, 1]], // without regard to case
    ['hex:0aff', [3]],
    ['MASK_MISSING', [2]],
    ['1002', [2]],
    ['binary', [3]],
    ['1001', [4]],
    ['nothing', []]
  ]) {
    assert.deepEqual(await find(session, query), found, query);
  }
  const umlauts = await opened(Buffer.concat([Buffer.from([0x81, 6]), Buffer.from('Ä[öZ')]));
  assert.deepEqual(await find(umlauts, 'Ä[öz'), [0]);
  for (const other of ['ä[öz', 'Ä{öz']) assert.deepEqual(await find(umlauts, other), [], 'only ASCII letters');
});

test('the bytes of a handshake are no frames', async () => {
  const requests = 'GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\n\r\n';
  const session = await opened(Buffer.concat([Buffer.from(requests), Buffer.from(HELLO, 'hex')]), 'client');
  assert.equal(session.frames.length, 1);
  const asked = await opened(Buffer.concat([Buffer.from(requests), Buffer.from(HELLO, 'hex')]));
  assert.deepEqual([asked.frames[0].from, asked.connections[0].url], ['client', 'ws://a/']);
  const { hasHandshake } = connectionOf(joinPieces([{ from: 'server', bytes: Buffer.from('HTTP/1.1 101') }]));
  assert.equal(hasHandshake, false);
});

test('a line of a handshake takes no longer than it is long', () => {
  const spaces = ' '.repeat(100_000);
  const deflateOf = (line) => {
    const pieces = joinPieces([{ from: 'server', bytes: Buffer.from(`${ANSWER}${line}\r\n\r\n`) }]);
    return connectionOf(pieces).deflate;
  };
  const name = 'Sec-WebSocket-Extensions:';
  for (const line of [`${name}${spaces}\n`, `${name} x${spaces}\n`, `${name}${spaces}x`]) {
    assert.equal(deflateOf(line), null);
  }
  assert.notEqual(deflateOf(`${name}${spaces}permessage-deflate\t${spaces}`), null);
});

test('inflated messages are kept up to a limit, and judged beyond it', async () => {
  const encoder = new Encoder({ role: 'server', deflate: acceptDeflate(DEFLATE, { threshold: 0 }) });
  for (let i = 0; i < 4; i++) encoder.binary(Buffer.alloc(1000));
  encoder.text(Buffer.alloc(1000, 0xff));
  const answer = Buffer.from(`${ANSWER}Sec-WebSocket-Extensions: ${DEFLATE}\r\n\r\n`);
  const session = new Session(undefined, { maxKept: 2500 });
  const data = Buffer.concat([answer, ...encoder.take()]);
  for (let i = 0; i < 2; i++) {
    const { frames, notes } = await opened(data, 'server', session);
    const lengths = frames.map(({ message }) => message.inflated?.length);
    assert.deepEqual(lengths, [1000, 1000, undefined, undefined, undefined]);
    assert.equal(frames[4].fault.code, 'FRAMEMASK_ERR_UTF8');
    assert.match(notes.join(), /further ones are left out/);
    assert.equal(detailOf(session, 2, 100).message.bytes, null);
  }
});

test('frames of many connections are in the order in which they began', async () => {
  const COUNT = 300;
  const pieces = [...Array(3 * COUNT).keys()].map((order) => ({
    from: 'server',
    bytes: Buffer.from([0x82, 0]),
    order
  }));
  const session = new Session();
  const connections = Array.from({ length: COUNT }, (_, i) =>
    joinPieces(
      pieces.filter(({ order }) => (order * 7) % COUNT === i).map((piece) => ({ ...piece, time: piece.order }))
    )
  );
  const moved = await countMoved(() => addStreams(session, connections));
  assert.deepEqual(
    session.frames.map(({ time }) => time),
    pieces.map(({ order }) => order)
  );
  assert.ok(moved <= pieces.length, `${moved} moves`);
});

test('TCP: bytes are in order, each once, also where sequence numbers wrap', () => {
  for (const start of [1, 0xfffffffc]) {
    const list = new SegmentList();
    for (const [offset, text] of [
      [6, 'ghi'],
      [0, 'abc'],
      [0, 'abc'],
      [2, 'cdef']
    ]) {
      const seq = (start + offset) >>> 0;
      list.add({ seq, length: text.length, payload: Buffer.from(text), order: offset, time: 0 });
    }
    const { bytes, chunks, missing } = list.join();
    assert.deepEqual([bytes.toString(), chunks.map(({ offset }) => offset), missing], ['abcdefghi', [0, 3, 6], null]);
  }
});

test('a list that is full says so', () => {
  const session = new Session();
  session.addConnection({ name: 'x' });
  session.frames.length = MAX_FRAMES;
  assert.equal(session.addFrame({ connection: 0, from: 'client', opcode: 1, fin: true }), false);
  assert.match(session.notes[0], /full/);
});

test('records of two ends that share no name are said to be apart', async () => {
  const record = (role, direction) => JSON.stringify({ ...RECORD, sequence: 1, connection: role, role, direction });
  const both = `${record('client', 'sent')}\n${record('server', 'received')}`;
  assert.match((await opened(both)).notes.join(), /not joined/);
  assert.deepEqual((await opened(record('client', 'sent'))).notes, []);
  assert.deepEqual((await opened(both.replaceAll('"connection":"client"', '"connection":"server"'))).notes, []);
});

test('text may begin with a byte order mark', async () => {
  for (const text of [HELLO, JSON.stringify({ ...RECORD, sequence: 1, connection: 'x' })])
    assert.equal((await opened(`\ufeff${text}`)).frames.length, 1);
});

test('anything else is refused with a word', async () => {
  await assert.rejects(opened('hello?!'), /neither hex nor base64/);
  await assert.rejects(opened(''), /no bytes/);
  await assert.rejects(opened('{"a":1}'), /no record/);
});
