'use strict';

// A handler that throws: write or resume throws the error, and the decoder goes on with the next
// frame when it is resumed.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachDecoder } = require('../../support/decoders');
const { endOfFrame, forEachStream, manyFrames, someOf } = require('../../support/flow-control');
const { seed } = require('../../support/random');
const { assertEvents } = require('../../support/recorder');
const { titleOf } = require('../../support/sample');

const fresh = (chunk) => Buffer.from(chunk);

t.test('an error from a handler leaves the rest for resume', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    for (let k = 0; k < expected.length; k++) {
      const thrown = new Error('from a handler');
      const after = () => {
        if (events.length === k + 1) throw thrown;
      };
      const { decoder, events } = record({ after });
      let caught = 0;
      for (const chunk of chunks) {
        try {
          decoder.write(fresh(chunk));
        } catch (error) {
          if (error !== thrown) throw error;
          assertEvents(events, expected.slice(0, endOfFrame(expected, k)), `thrown at event ${k}`);
          caught++;
        }
      }
      assert.equal(caught, 1, `thrown at event ${k}: how often write threw`);
      decoder.resume();
      assertEvents(events, expected, `thrown at event ${k}, then resumed`);
    }
  });
  t.end();
});

t.test('each of the errors from all handlers is thrown once', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    const after = () => {
      throw new Error(`event ${events.length}`);
    };
    const { decoder, events } = record({ after });
    const attempt = (work) => {
      const before = events.length;
      try {
        work();
      } catch (error) {
        // If onFrame and onMessage of one frame throw, this is the error of onMessage.
        if (error.message !== `event ${events.length}`) throw error;
        return true;
      }
      assert.equal(events.length, before, 'events whose errors were lost');
      return false;
    };
    for (const chunk of chunks) attempt(() => decoder.write(fresh(chunk)));
    while (attempt(() => decoder.resume()));
    assertEvents(events, expected);
  });
  t.end();
});

t.test('a handler may pause and throw', (t) => {
  forEachStream(({ chunks, expected, record }) => {
    const after = (_event, decoder) => {
      decoder.pause();
      throw new Error('from a handler');
    };
    const { decoder, events } = record({ after });
    for (const chunk of chunks) {
      const before = events.length;
      const { paused } = decoder;
      try {
        decoder.write(fresh(chunk));
      } catch {}
      assert.ok(!paused || events.length === before, 'an event while paused');
    }
    for (let i = 0; i < 3 * expected.length; i++) {
      try {
        decoder.resume();
      } catch {}
    }
    assertEvents(events, expected);
  });
  t.end();
});

t.test(titleOf('an error at any of 600 frames of one chunk', `every fifth, seed ${seed}`), (t) => {
  forEachDecoder(({ decodeCut, f, record }) => {
    const chunks = manyFrames(f);
    const expected = decodeCut(Buffer.concat(chunks), []);
    assert.equal(expected.length, 601, 'events in one chunk');
    for (const k of someOf(expected)) {
      const after = () => {
        if (events.length === k + 1) throw new Error('from a handler');
      };
      const { decoder, events } = record({ after });
      let caught = 0;
      for (const chunk of chunks) {
        try {
          decoder.write(fresh(chunk));
        } catch {
          assertEvents(events, expected.slice(0, k + 1), `thrown at event ${k}`);
          caught++;
        }
      }
      assert.equal(caught, 1, `thrown at event ${k}: how often write threw`);
      decoder.resume();
      assertEvents(events, expected, `thrown at event ${k}, then resumed`);
    }
  });
  t.end();
});

t.test('an error from onError or onClose leaves the decoder closed, and comes once', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    const endings = { onError: f.frame(3), onClose: f.close(1000) };
    for (const [name, bytes] of Object.entries(endings)) {
      for (const before of [[], [f.text('a'), f.text('b')]]) {
        const what = `${name}, after ${before.length} messages`;
        let calls = 0;
        const decoder = new Decoder({
          role,
          [name]() {
            calls++;
            throw new Error(name);
          }
        });
        assert.throws(() => decoder.write(Buffer.concat([...before, bytes, f.text('late')])), { message: name }, what);
        assert.equal(decoder.closed, true, what);
        assert.equal(decoder.write(f.text('late')), true, what);
        decoder.resume();
        assert.equal(calls, 1, what);
      }
    }
  });
  t.end();
});
