'use strict';

// A decoder may be paused, resumed or stopped at any time: nothing is lost, delivered twice or out
// of order.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachDecoder } = require('../../support/decoders');
const { forEachStream, isEnd, manyFrames, someOf } = require('../../support/flow-control');
const { seed } = require('../../support/random');
const { assertEvents, string } = require('../../support/recorder');
const { titleOf } = require('../../support/sample');

const fresh = (chunk) => Buffer.from(chunk);

t.test('pause in a handler holds what follows until resume', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    for (let k = 0; k < expected.length; k++) {
      const after = (_event, decoder) => {
        if (events.length === k + 1) decoder.pause();
      };
      const { decoder, events, intact } = record({ after });
      const results = chunks.map((chunk) => decoder.write(fresh(chunk)));
      assertEvents(events, expected.slice(0, k + 1), `paused at event ${k}`);
      if (isEnd(expected[k])) {
        assert.ok(!decoder.paused && decoder.closed, `at event ${k}: a decoder that has ended is not paused`);
      } else {
        assert.ok(decoder.paused && !decoder.closed, `at event ${k}: paused`);
        assert.equal(results.at(-1), false, `paused at event ${k}: write returns false`);
      }
      decoder.resume();
      assert.ok(!decoder.paused, `paused at event ${k}: resumed`);
      assertEvents(events, expected, `resumed after event ${k}`);
      assert.ok(intact(), `paused at event ${k}: a Buffer has changed after it was delivered`);
    }
  });
  t.end();
});

t.test('pause in every handler, with resume as often as it takes', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    const { decoder, events } = record({ after: (_event, decoder) => decoder.pause() });
    for (const chunk of chunks) {
      decoder.write(fresh(chunk));
      while (decoder.paused) {
        const before = events.length;
        decoder.resume();
        assert.ok(events.length - before <= 2, `${events.length - before} events by one resume`);
      }
    }
    assertEvents(events, expected);
  });
  t.end();
});

t.test('pause and resume in one handler change nothing, and deliver nothing inside it', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    const after = (_event, decoder) => {
      const before = events.length;
      decoder.resume();
      decoder.pause();
      decoder.pause();
      decoder.resume();
      decoder.write(Buffer.alloc(0));
      assert.equal(events.length, before, 'events inside a handler');
    };
    const { decoder, events } = record({ after });
    for (const chunk of chunks) assert.ok(decoder.write(fresh(chunk)), 'write returns true');
    assertEvents(events, expected);
  });
  t.end();
});

t.test('stop in a handler drops all that follows', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    for (let k = 0; k < expected.length; k++) {
      const after = (_event, decoder) => {
        if (events.length === k + 1) decoder.stop();
      };
      const { decoder, events } = record({ after });
      for (const chunk of chunks) assert.ok(decoder.write(fresh(chunk)), `stopped at event ${k}: write returns true`);
      decoder.resume();
      assert.ok(decoder.closed, `stopped at event ${k}: closed`);
      assertEvents(events, expected.slice(0, k + 1), `stopped at event ${k}`);
    }
  });
  t.end();
});

t.test(titleOf('pause or stop at any of 600 frames of one chunk', `every fifth, seed ${seed}`), (t) => {
  forEachDecoder(({ decodeCut, f, record }) => {
    const chunks = manyFrames(f);
    const expected = decodeCut(Buffer.concat(chunks), []);
    assert.equal(expected.length, 601, 'events in one chunk');
    for (const k of someOf(expected)) {
      const run = (act) => {
        const after = (_event, decoder) => {
          if (events.length === k + 1) act(decoder);
        };
        const { decoder, events } = record({ after });
        for (const chunk of chunks) decoder.write(fresh(chunk));
        return { decoder, events };
      };
      const paused = run((decoder) => decoder.pause());
      assertEvents(paused.events, expected.slice(0, k + 1), `paused at event ${k}`);
      paused.decoder.resume();
      assertEvents(paused.events, expected, `resumed after event ${k}`);
      const stopped = run((decoder) => decoder.stop());
      assertEvents(stopped.events, expected.slice(0, k + 1), `stopped at event ${k}`);
    }
  });
  t.end();
});

t.test('pause outside of handlers holds all chunks until resume', (t) => {
  forEachDecoder(({ f, record }) => {
    const { decoder, events } = record();
    decoder.resume();
    assert.equal(decoder.paused, false, 'resume without pause');
    assert.equal(decoder.closed, false, 'resume without pause');
    decoder.pause();
    decoder.pause();
    assert.equal(decoder.paused, true, 'paused');
    const results = [f.text('a'), Buffer.alloc(0), f.text('b')].map((chunk) => decoder.write(chunk));
    assert.deepEqual(results, [false, false, false], 'what write returns while paused');
    assert.deepEqual(events, [], 'events while paused');
    decoder.resume();
    assert.equal(decoder.paused, false, 'paused after resume');
    assert.deepEqual(events, [string('a'), string('b')], 'events after resume');
    assert.equal(decoder.write(f.text('c')), true, 'what write returns after resume');
    assert.deepEqual(events.at(-1), string('c'), 'an event after resume');

    const bytes = Buffer.concat([f.text('d', { fin: false }), f.continuation('e')]);
    for (let i = 0; i < bytes.length; i++) {
      decoder.write(fresh(bytes.subarray(i, i + 1)));
      decoder.pause();
      decoder.resume();
    }
    assert.deepEqual(events.slice(3), [string('de')], 'inside a header, a payload and a message');
  });
  t.end();
});

t.test('stop outside of handlers drops what is held, and ends the decoder for good', (t) => {
  forEachDecoder(({ f, record }) => {
    const { decoder, events } = record();
    decoder.pause();
    decoder.write(f.text('held'));
    decoder.stop();
    decoder.stop();
    assert.equal(decoder.closed, true, 'closed');
    assert.equal(decoder.paused, false, 'paused after stop');
    decoder.pause();
    assert.equal(decoder.paused, false, 'a decoder that has ended cannot be paused');
    decoder.resume();
    assert.equal(decoder.write(f.text('late')), true, 'what write returns after stop');
    assert.deepEqual(events, [], 'events after stop');

    const parts = {
      'a header': f.text('abc').subarray(0, 3),
      'a payload': f.text('abc').subarray(0, f.text('').length + 2),
      'a message': f.text('abc', { fin: false })
    };
    for (const [where, part] of Object.entries(parts)) {
      const other = record();
      other.decoder.write(fresh(part));
      other.decoder.stop();
      other.decoder.write(f.text('late'));
      assert.deepEqual(other.events, [], `stopped inside ${where}`);
    }
  });
  t.end();
});
