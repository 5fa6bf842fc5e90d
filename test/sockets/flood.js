'use strict';

// Bytes of one connection never reach another: hundreds of connections send patterns of their own,
// with FRAMEMASK_TEST=all thousands.

const assert = require('node:assert/strict');
const t = require('tap');
const { once } = require('node:events');
const { Decoder, readInto } = require('../../index.js');
const { BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, closePayload, frame } = require('../support/frames');
const { createRandom, seed } = require('../support/random');
const { record, sameEvents, string } = require('../support/recorder');
const { TRIES_ALL } = require('../support/sample');
const { Reads, isNode } = require('../support/socket-pairs');
const { randomCuts } = require('../support/streams');

const CONNECTIONS = TRIES_ALL ? 2000 : 600;
const AT_ONCE = 250;
const TRANSPORTS = ['tcp', 'tcp', 'http', 'http', 'http', 'pipe', 'pipe', 'tls'];

/** @returns {Buffer} a payload that says whose it is, all over */
function patternOf(id, number, length) {
  return Buffer.alloc(length, `<connection ${id}, message ${number}>`);
}

/**
 * What a connection sends, and the events that must come of it.
 *
 * @param {number} id
 * @param {(below: number) => number} random
 */
function makeStream(id, random) {
  const parts = [];
  const expected = [];
  const add = (opcode, payload, options) => {
    const key = Buffer.alloc(4);
    key.writeUInt32LE(random(2 ** 32));
    parts.push(frame(opcode, payload, { key, ...options }));
  };
  const control = (number) => {
    const payload = patternOf(id, number, random(126));
    const isPing = random(2) === 0;
    add(isPing ? PING : PONG, payload);
    expected.push([isPing ? 'ping' : 'pong', payload.latin1Slice()]);
  };
  add(TEXT, `id ${id}`);
  expected.push(string(`id ${id}`));
  for (let number = 1; number < 6 + random(20); number++) {
    const length = [random(20), random(126), random(126), random(1000), random(9000)][random(5)];
    const payload = patternOf(id, number, random(300) === 0 ? 66_000 + random(60_000) : length);
    const isText = random(2) === 0;
    const event = isText ? string(payload.latin1Slice()) : ['binary', payload.latin1Slice(), false];
    if (random(6) === 0) control(number);
    if (random(4) !== 0) {
      add(isText ? TEXT : BINARY, payload);
    } else {
      const middle = random(payload.length + 1);
      add(isText ? TEXT : BINARY, payload.subarray(0, middle), { fin: false });
      if (random(3) === 0) control(number);
      add(CONTINUATION, payload.subarray(middle));
    }
    expected.push(event);
  }
  add(CLOSE, closePayload(1000, `bye ${id}`));
  expected.push(['close', 1000, `bye ${id}`]);
  return { bytes: Buffer.concat(parts), expected };
}

/** What a server's connections have delivered. */
class Flood {
  constructor(random) {
    this.random = random;
    this.recorded = [];
    this.lent = 0;
    this.frames = 0;
  }

  accept(socket) {
    const { random } = this;
    socket.on('error', () => {}).on('end', () => socket.end());
    const pauses = random(3) === 0;
    const recorded = record(Decoder, {
      role: 'server',
      // Some connections read by events, as others of a program do.
      borrowed: random(8) !== 0,
      // With onFrame a decoder takes another way.
      ...(random(4) === 0 && { onFrame: () => this.frames++ }),
      after: (_event, decoder) => {
        if (!pauses || random(8) !== 0) return;
        const which = [decoder, socket][random(2)];
        which.pause();
        if (random(3) === 0) setImmediate(() => which.resume());
        else setTimeout(() => which.resume(), random(10));
      }
    });
    const reads = readInto(socket, recorded.decoder, () => {}, { batched: random(2) === 0 });
    if (reads !== 'events') this.lent++;
    this.recorded.push(recorded);
  }
}

/**
 * Sends a stream in pieces, some of them after a pause, and waits until the connection is closed.
 */
async function send(client, bytes, random) {
  let start = 0;
  for (const end of [...randomCuts(random, bytes.length), bytes.length]) {
    client.write(bytes.subarray(start, end));
    start = end;
    if (random(4) === 0) await new Promise((resolve) => setTimeout(resolve, random(4)));
  }
  const closed = once(client, 'close');
  client.resume();
  client.end();
  await closed;
}

t.test(`${CONNECTIONS} connections get every byte that is theirs, and what is delivered does not change`, async (t) => {
  const random = createRandom(seed);
  const flood = new Flood(random);
  const servers = [];
  for (const name of TRANSPORTS) {
    const reads = new Reads(t, name, 'shared');
    servers.push({ reads, ...(await reads.listen((socket) => flood.accept(socket))) });
  }
  const expected = new Map();
  let id = 0;
  async function run() {
    while (id < CONNECTIONS) {
      const mine = id++;
      const { reads, address } = servers[mine % servers.length];
      const stream = makeStream(mine, random);
      expected.set(`id ${mine}`, stream.expected);
      await send(await reads.open(address), stream.bytes, random);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  // A paused connection delivers its last messages a moment later.
  const isComplete = ({ events }) => events.at(-1)?.[0] === 'close';
  for (let i = 0; i < 500 && !flood.recorded.every(isComplete); i++) await new Promise((r) => setTimeout(r, 10));

  t.equal(flood.recorded.length, CONNECTIONS);
  if (isNode) t.ok(flood.lent > CONNECTIONS / 2, `${flood.lent} connections shared reads`);
  t.ok(flood.frames > 0);
  for (const { events, intact } of flood.recorded) {
    const wanted = expected.get(events[0]?.[1]);
    assert.ok(wanted !== undefined, `seed ${seed}: a connection without its name: ${events[0]}`);
    expected.delete(events[0][1]);
    if (!sameEvents(events, wanted)) {
      const wrong = wanted.findIndex((event, i) => !sameEvents([event], [events[i] ?? []]));
      const show = (event) => String(event).slice(0, 80);
      assert.fail(`seed ${seed}, ${wanted[0][1]}, event ${wrong}: ${show(events[wrong])}, not ${show(wanted[wrong])}`);
    }
    assert.ok(intact(), `seed ${seed}, ${wanted[0][1]}: a Buffer has changed after it was delivered`);
  }
  t.equal(expected.size, 0, 'every connection was compared');
});
