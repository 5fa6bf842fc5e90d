'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { ROLES, createDecoders } = require('../../support/decoders');
const { VARIANTS } = require('../../support/flow-control');
const { framesFor } = require('../../support/frames');
const { createRandom, seed } = require('../../support/random');
const { eventsOf, record } = require('../../support/recorder');
const { createStreamMaker, randomCuts } = require('../../support/streams');

const DECODERS = createDecoders();
const STREAMS = 3000;

/** Calls `work`; returns whether it threw no error of a handler. */
function attempt(work) {
  try {
    work();
    return true;
  } catch (error) {
    if (error.message !== 'from a handler') throw error;
    return false;
  }
}

t.test(`handlers that pause, throw and feed others at random deliver the same (seed ${seed})`, (t) => {
  const random = createRandom(seed);
  const makeStream = createStreamMaker(random, { rsv1: true, longest: 3000 });
  const few = Buffer.concat(Array(9).fill(framesFor('client').text('for another decoder')));
  let calls = 0;

  function checkStream() {
    const role = ROLES[random(2)];
    const options = { role, rsv1: random(3) > 0, ...VARIANTS[random(VARIANTS.length)] };
    const bytes = makeStream(role);
    const cuts = [...randomCuts(random, bytes.length), bytes.length];
    const { Decoder } = DECODERS[random(DECODERS.length)];
    const other = new Decoder({ role: 'client', onMessage() {} });
    const after = (_event, decoder) => {
      calls++;
      switch (random(8)) {
        case 0:
          decoder.pause();
          break;
        case 1:
          throw new Error('from a handler');
        case 2:
          decoder.pause();
          decoder.resume();
          break;
        case 3:
          other.write(Buffer.from(few));
          break;
        case 4:
          decoder.pause();
          throw new Error('from a handler');
        default:
      }
    };
    // With the same cuts: they decide whether onFrame is called for bad text (see
    // chunk-boundaries.js).
    const expected = eventsOf(Decoder, options, bytes, cuts.slice(0, -1));
    const { decoder, events, intact } = record(Decoder, { ...options, after });
    let start = 0;
    for (const end of cuts) {
      attempt(() => decoder.write(Buffer.from(bytes.subarray(start, end))));
      if (random(2) === 0) attempt(() => decoder.resume());
      start = end;
    }
    while (!attempt(() => decoder.resume()) || decoder.paused);
    assert.deepEqual(events, expected);
    assert.ok(intact(), 'a Buffer has changed after it was delivered');
  }

  for (let i = 0; i < STREAMS; i++) {
    try {
      checkStream();
    } catch (error) {
      error.message = `FRAMEMASK_TEST_SEED=${seed}, stream ${i}: ${error.message}`;
      throw error;
    }
  }
  t.ok(calls > STREAMS, `${calls} calls of handlers`);
  t.end();
});
