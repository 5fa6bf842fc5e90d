'use strict';

// Bytes of one connection never reach another: hundreds of connections send patterns of their own,
// with FRAMEMASK_TEST=all thousands.

const assert = require('node:assert/strict');
const t = require('tap');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const { Decoder } = require('../../index.js');
const { readInto } = require('../support/read-into');
const { framesFor } = require('../support/frames');
const { createRandom, seed } = require('../support/random');
const { assertEvents, eventsOf, record } = require('../support/recorder');
const { TRIES_ALL } = require('../support/sample');
const { Reads, isNode } = require('../support/socket-pairs');
const { createStreamMaker, randomCuts } = require('../support/streams');

const CONNECTIONS = TRIES_ALL ? 2000 : 600;
const AT_ONCE = 250;
const TRANSPORTS = ['tcp', 'tcp', 'http', 'http', 'http', 'pipe', 'pipe', 'tls'];

/**
 * What a connection sends: its name, and random frames, some of them wrong; and the events that
 * must come of it.
 */
function createStream(id, makeStream) {
  const bytes = Buffer.concat([framesFor('server').text(`id ${id}`), makeStream('server')]);
  return { bytes, expected: eventsOf(Decoder, { role: 'server' }, bytes) };
}

/** What a server's connections have delivered. */
class Flood {
  constructor(random) {
    this.random = random;
    this.recorded = [];
    this.lent = 0;
  }

  accept(socket) {
    const { random } = this;
    socket.on('error', () => {}).on('end', () => socket.end());
    const pauses = random(3) === 0;
    const recorded = record(Decoder, {
      role: 'server',
      // Some connections read by events, as others of a program do.
      borrowed: random(8) !== 0,
      after: (_event, decoder) => {
        if (!pauses || random(8) !== 0) return;
        const which = [decoder, socket][random(2)];
        which.pause();
        if (random(3) === 0) setImmediate(() => which.resume());
        else setTimeout(() => which.resume(), random(10));
      }
    });
    const reads = readInto(socket, recorded.decoder);
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
    if (random(4) === 0) await sleep(random(4));
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
  const makeStream = createStreamMaker(random);
  const expected = new Map();
  let id = 0;
  async function run() {
    while (id < CONNECTIONS) {
      const mine = id++;
      const { reads, address } = servers[mine % servers.length];
      const stream = createStream(mine, makeStream);
      expected.set(`id ${mine}`, stream.expected);
      await send(await reads.openClient(address), stream.bytes, random);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  // A paused connection delivers its last messages a moment later.
  const isComplete = ({ events }) => events.length === expected.get(events[0]?.[1])?.length;
  for (let i = 0; i < 500 && !flood.recorded.every(isComplete); i++) await sleep(10);

  t.equal(flood.recorded.length, CONNECTIONS);
  if (isNode) t.ok(flood.lent > CONNECTIONS / 2, `${flood.lent} connections shared reads`);
  for (const { events, intact } of flood.recorded) {
    const wanted = expected.get(events[0]?.[1]);
    assert.ok(wanted !== undefined, `seed ${seed}: a connection without its name: ${events[0]}`);
    expected.delete(events[0][1]);
    assertEvents(events, wanted, `seed ${seed}, ${wanted[0][1]}`);
    assert.ok(intact(), `seed ${seed}, ${wanted[0][1]}: a Buffer has changed after it was delivered`);
  }
  t.equal(expected.size, 0, 'every connection was compared');
});
