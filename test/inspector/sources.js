'use strict';

// What can be opened in the inspector: pasted text, bytes, records of two ends, TCP segments.

const t = require('tap');
const { acceptDeflate, Encoder } = require('../../index.js');
const { bytesFromText, streamsFromText } = require('../../inspector/lib/bytes-from-text');
const { connectionOf } = require('../../inspector/lib/handshake');
const { detailOf } = require('../../inspector/lib/detail');
const { search } = require('../../inspector/lib/search');
const { SegmentList } = require('../../inspector/lib/segments');
const { MAX_FRAMES, Place, Session } = require('../../inspector/lib/session');
const { joinPieces, kindOf, open } = require('../../inspector/lib/sources');

const ANSWER = 'HTTP/1.1 101 x\r\nUpgrade: websocket\r\n';
const DEFLATE = 'permessage-deflate; server_no_context_takeover; client_no_context_takeover';
const HELLO = '818537fa213d7f9f4d5158';

/** @returns {Promise<Session>} a session with what `data` has */
async function opened(data, options) {
  const session = new Session();
  await open(session, { data: Buffer.from(data), name: 'test', ...options });
  return session;
}

t.test('hex is read in the ways in which it is written', (t) => {
  for (const text of [
    HELLO,
    HELLO.toUpperCase(),
    '81 85 37 fa 21 3d 7f 9f 4d 51 58',
    '0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58',
    '\\x81\\x85\\x37\\xfa\\x21\\x3d\\x7f\\x9f\\x4d\\x51\\x58',
    '81:85:37:fa:21:3d:7f:9f:4d:51:58\n',
    '00000000  81 85 37 fa 21 3d 7f 9f  4d 51 58                 |..7.!=..MQX|\n0000000b\n',
    '00000000: 8185 37fa 213d 7f9f 4d51 58              ..7.!=..MQX\n'
  ]) {
    t.equal(bytesFromText(text).toString('hex'), HELLO, text);
  }
  t.equal(bytesFromText('gYU3+iE9f59NUVg=').toString('hex'), HELLO, 'base64');
  t.equal(bytesFromText('gYU3-iE9f59N\nUVg').toString('hex'), HELLO, 'base64url');
  t.equal(bytesFromText('abcd', 'base64').toString('hex'), '69b71d');
  t.throws(() => bytesFromText('818'), /odd number/);
  t.throws(() => bytesFromText('no bytes!'), /neither hex nor base64/);
  t.throws(() => bytesFromText('xyz', 'hex'), /not hex/);
  t.end();
});

t.test('lines say which end has sent the bytes', (t) => {
  const streams = streamsFromText('client: 81 80 00000000\n8a 00\nserver: 8100\n> 8900\n< 8a00\nC: 01\nS: 02');
  t.same(
    streams.map(({ from, bytes }) => `${from} ${bytes.toString('hex')}`),
    ['client 8180000000008a00', 'server 8100', 'client 8900', 'server 8a00', 'client 01', 'server 02']
  );
  t.same(streamsFromText('CgVIZWxsbw==')[0].from, null, 'base64 that begins like a name');
  t.end();
});

t.test('a source is known by its bytes', (t) => {
  t.equal(kindOf(Buffer.from('0a0d0d0a', 'hex')), 'capture');
  t.equal(kindOf(Buffer.from('d4c3b2a1', 'hex')), 'capture');
  t.equal(kindOf(Buffer.from(' {"id":1}')), 'records');
  t.equal(kindOf(Buffer.from('81 00')), 'bytes');
  t.equal(kindOf(Buffer.from('8100', 'hex')), 'raw');
  t.end();
});

t.test('5.4: fragments are one message, and control frames lie between them', async (t) => {
  const encoder = new Encoder({ role: 'server' });
  encoder.text('a', { fin: false });
  encoder.ping();
  encoder.continuation('b', { fin: false });
  encoder.continuation('c');
  encoder.pong();
  const { frames, ...session } = await opened(Buffer.concat(encoder.take()));
  const { FIRST, INSIDE, MIDDLE, LAST, APART } = Place;
  t.same(
    frames.map(({ place }) => place),
    [FIRST, INSIDE, MIDDLE, LAST, APART]
  );
  t.same(
    frames.map(({ message }) => message),
    [1, 1, 1, 1, 0]
  );
  t.equal(session.connections.length, 1);
});

t.test('the details of a frame have its message', async (t) => {
  const session = await opened('010161 8900 800162', { from: 'server' });
  const { message, header, payload } = detailOf(session, 2, 100);
  t.same(
    message.frames.map(({ name }) => name),
    ['text', 'ping', 'continuation']
  );
  t.equal(Buffer.from(message.bytes, 'base64').toString(), 'ab');
  t.equal(message.complete, true);
  t.equal(header.hex, '8001');
  t.equal(payload.masked, null);
  t.equal(detailOf(session, 3, 100), null);
  t.equal(detailOf(session, 2, -5).payload.unmasked, '');
});

t.test('a search finds text across fragments, bytes, errors and opcodes', async (t) => {
  const session = await opened('client: 0182 00000000 4845 808300000000 4c6c6f 8900\nserver: 82020aff');
  const find = (query) => search(session, query, () => true);
  t.same(await find('hello'), [0, 1], 'without regard to case');
  t.same(await find('hex:0aff'), [3]);
  t.same(await find('MASK_MISSING'), [2]);
  t.same(await find('1002'), [2]);
  t.same(await find('binary'), [3]);
  t.same(await find('nothing'), []);
  const umlauts = await opened(Buffer.concat([Buffer.from([0x81, 6]), Buffer.from('Ä[öZ')]), { kind: 'raw' });
  t.same(await search(umlauts, 'Ä[öz', () => true), [0]);
  for (const other of ['ä[öz', 'Ä{öz']) t.same(await search(umlauts, other, () => true), [], 'only ASCII letters');
});

t.test('the bytes of a handshake are no frames', async (t) => {
  const session = await opened(
    Buffer.concat([
      Buffer.from('GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\n\r\n'),
      Buffer.from(HELLO, 'hex')
    ]),
    { kind: 'raw', from: 'client' }
  );
  t.equal(session.frames.length, 1);
  const answer = 'HTTP/1.1 101 x\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n';
  const { server, settings } = connectionOf(
    joinPieces([
      { from: 'server', bytes: Buffer.from(answer) },
      { from: 'server', bytes: Buffer.from('c107f248cdc9c90700', 'hex') }
    ])
  );
  t.equal(server.bytes.length, 9);
  t.not(settings.deflate, null, 'messages are compressed');
  t.equal(connectionOf({ server: { ...server, bytes: Buffer.from('HTTP/1.1 101') } }).hasHandshake, false);
  t.end();
});

t.test('a line of a handshake takes no longer than it is long', (t) => {
  const spaces = ' '.repeat(100_000);
  const head = (line) => joinPieces([{ from: 'server', bytes: Buffer.from(`${ANSWER}${line}\r\n\r\n`) }]);
  const name = 'Sec-WebSocket-Extensions:';
  for (const line of [`${name}${spaces}\n`, `${name} x${spaces}\n`, `${name}${spaces}x`]) {
    t.equal(connectionOf(head(line)).settings.deflate, null);
  }
  t.not(connectionOf(head(`${name}${spaces}permessage-deflate\t${spaces}`)).settings.deflate, null);
  t.end();
});

t.test('RFC 7692: a compressed message is shown inflated', async (t) => {
  const answer = 'HTTP/1.1 101 x\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n';
  const frames = 'c107f248cdc9c90700c105f200110000';
  const session = await opened(Buffer.concat([Buffer.from(answer), Buffer.from(frames, 'hex')]), {
    kind: 'raw',
    from: 'server'
  });
  t.same(
    session.frames.map(({ inflated }) => inflated.toString()),
    ['Hello', 'Hello'],
    'the second refers to the first'
  );
  t.same(await search(session, 'hello', () => true), [0, 1]);
});

t.test('inflated messages are kept up to a limit, and judged behind it', async (t) => {
  const encoder = new Encoder({ role: 'server', deflate: acceptDeflate(DEFLATE, { threshold: 0 }) });
  for (let i = 0; i < 4; i++) encoder.binary(Buffer.alloc(1000));
  encoder.text(Buffer.alloc(1000, 0xff));
  const answer = Buffer.from(`${ANSWER}Sec-WebSocket-Extensions: ${DEFLATE}\r\n\r\n`);
  const session = new Session(() => {}, { maxKept: 2500 });
  const data = Buffer.concat([answer, ...encoder.take()]);
  for (let i = 0; i < 2; i++) {
    await open(session, { data, name: 'test', kind: 'raw', from: 'server' });
    t.same(
      session.frames.map(({ inflated }) => inflated?.length),
      [1000, 1000, undefined, undefined, undefined]
    );
    t.match(session.frames[4].fault, { code: 'FRAMEMASK_ERR_UTF8' });
    t.match(session.notes, [/further ones are left out/]);
    t.equal(detailOf(session, 2, 100).message.inflated, null);
  }
});

t.test('TCP: bytes are in order and each is there once', (t) => {
  const list = new SegmentList();
  list.hasStart = true;
  const add = (seq, text, length = text.length) =>
    list.add({ seq: seq >>> 0, length, payload: Buffer.from(text), order: seq, time: seq });
  add(7, 'ghi');
  add(1, 'abc');
  add(1, 'abc');
  add(3, 'cdef');
  const { bytes, chunks, missing } = list.join();
  t.equal(bytes.toString(), 'abcdefghi');
  t.same(
    chunks.map(({ offset }) => offset),
    [0, 3, 6]
  );
  t.equal(missing, null);
  t.end();
});

t.test('TCP: what comes behind missing bytes is left out', (t) => {
  const segment = (seq, text, length = text.length) => ({
    seq,
    length,
    payload: Buffer.from(text),
    order: seq,
    time: seq
  });
  const join = (...segments) => {
    const list = new SegmentList();
    list.hasStart = true;
    for (const each of segments) list.add(each);
    const { bytes, missing } = list.join();
    return { text: bytes.toString(), missing };
  };
  t.same(join(segment(1, 'ab'), segment(5, 'ef')), { text: 'ab', missing: { after: 2, count: 2 } });
  t.same(join(segment(4, 'd')), { text: '', missing: { after: 0, count: 3 } }, 'the first bytes');
  t.same(
    join(segment(1, 'ab', 4), segment(5, 'ef')),
    { text: 'ab', missing: { after: 2, count: 2 } },
    'a short capture'
  );
  const late = new SegmentList();
  late.add(segment(50, 'xy'));
  t.equal(late.join().bytes.toString(), 'xy', 'a capture that began later');
  t.end();
});

t.test('a list that is full says so', (t) => {
  const session = new Session();
  session.addConnection('x');
  session.frames.length = MAX_FRAMES;
  t.equal(session.addFrame({ connection: 0, from: 'client', opcode: 1, fin: true }), false);
  t.match(session.notes[0], /full/);
  t.end();
});

t.test('records of two ends that share no name are said to be apart', async (t) => {
  const record = (role, direction) =>
    JSON.stringify({
      connection: role,
      from: 'client',
      role,
      direction,
      sequence: 1,
      opcode: 1,
      fin: true,
      rsv: 0,
      length: 1,
      error: null
    });
  const both = `${record('client', 'sent')}\n${record('server', 'received')}`;
  t.match((await opened(both)).notes, [/not joined/]);
  t.same((await opened(record('client', 'sent'))).notes, []);
  t.same((await opened(both.replaceAll('"connection":"client"', '"connection":"server"'))).notes, []);
});

t.test('what is no source is refused with a word', async (t) => {
  await t.rejects(opened('hello?!'), /neither hex nor base64/);
  await t.rejects(opened(''), /no bytes/);
  await t.rejects(opened('{"a":1}'), /no record/);
  await t.rejects(opened('81', { kind: 'movie' }), /no kind movie/);
});
