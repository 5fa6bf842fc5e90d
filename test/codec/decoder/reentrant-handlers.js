'use strict';

// Handlers that write to their own decoder, feed other decoders, or give memory away.

const assert = require('node:assert/strict');
const t = require('tap');
const { forEachCase } = require('../../support/cases');
const { createDecoders, forEachDecoder } = require('../../support/decoders');
const { STREAMS, VARIANTS } = require('../../support/flow-control');
const { framesFor } = require('../../support/frames');
const { record } = require('../../support/recorder');

const f = framesFor('server');
const fresh = (chunk) => Buffer.from(chunk);

t.test('what a handler writes is delivered after the chunk at hand', (t) => {
  forEachDecoder(({ decodeCut, f, record }) => {
    const frames = STREAMS.close(f).slice(0, -2);
    const extra = [f.ping('extra'), f.text('of many'), f.text('frames')];
    for (const variant of VARIANTS) {
      const first = decodeCut(Buffer.concat(frames), [], variant);
      const second = decodeCut(Buffer.concat(extra), [], variant);
      for (let k = 0; k < first.length; k++) {
        const what = `handlers {${Object.keys(variant)}}, written at event ${k}`;
        const after = (_event, decoder) => {
          if (events.length !== k + 1) return;
          // Two pieces: the second is written while the first waits.
          const bytes = Buffer.concat(extra);
          assert.equal(decoder.write(bytes.subarray(0, 5)), true, what);
          decoder.write(bytes.subarray(5));
          assert.equal(events.length, k + 1, `${what}: delivered inside the handler`);
        };
        const { decoder, events } = record({ ...variant, after });
        decoder.write(Buffer.concat(frames));
        assert.deepEqual(events, [...first, ...second], what);
      }
    }
  });
  t.end();
});

t.test('a handler may write for each message that it gets: no recursion', (t) => {
  forEachDecoder(({ Decoder, f, role }) => {
    let left = 20000;
    const decoder = new Decoder({
      role,
      onMessage() {
        if (left-- > 0) decoder.write(f.text('more'));
      }
    });
    decoder.write(f.text('more'));
    assert.equal(left, -1);
  });
  t.end();
});

// Each level is inside a chunk of many frames, so it needs a frame table of its own.
t.test('a handler may feed other decoders, whose handlers feed others', (t) => {
  const texts = Array.from({ length: 12 }, (_, i) => `text ${i}`);
  forEachCase(createDecoders(), ({ Decoder }) => {
    let decoders = 0;
    const feed = (depth) => {
      // Frames of another size on each level, so that a frame table of another level would be a
      // wrong one.
      const own = texts.map((text) => `${text}${'.'.repeat(depth)}`);
      const seen = [];
      const decoder = new Decoder({
        role: 'server',
        onMessage(text) {
          seen.push(text);
          if (depth > 0) feed(depth - 1);
        }
      });
      decoder.write(Buffer.concat(own.map((text) => f.text(text))));
      decoders++;
      assert.deepEqual(seen, own, `level ${depth}`);
    };
    feed(3);
    assert.equal(decoders, 1 + 12 + 144 + 1728, 'how many decoders there were');
  });
  t.end();
});

t.test('a decoder that throws inside the handler of another', (t) => {
  const texts = Array.from({ length: 12 }, (_, i) => `text ${i}`);
  const chunk = Buffer.concat(texts.map((text) => f.text(text)));
  forEachCase(createDecoders(), ({ Decoder }) => {
    const { decoder: inner, events } = record(Decoder, {
      role: 'server',
      after: ([, text]) => {
        if (text === 'text 3') throw new Error('from the inner one');
        if (text === 'text 7') inner.pause();
      }
    });
    const outer = [];
    const decoder = new Decoder({
      role: 'server',
      onMessage(text) {
        outer.push(text);
        if (text === 'text 2') inner.write(fresh(chunk));
        if (text === 'text 5' || text === 'text 9') inner.resume();
      }
    });
    assert.throws(() => decoder.write(fresh(chunk)), { message: 'from the inner one' });
    assert.equal(events.length, 4, 'events of the inner one when it has thrown');
    assert.equal(outer.length, 3, 'events of the outer one when the inner one has thrown');
    decoder.resume();
    assert.deepEqual(outer, texts, 'the outer one, resumed');
    assert.deepEqual(
      events.map(([, text]) => text),
      texts,
      'the inner one, resumed by the outer one'
    );
  });
  t.end();
});

t.test('two decoders that feed each other: each finishes its chunk first', (t) => {
  forEachCase(createDecoders(), ({ Decoder }) => {
    const log = [];
    const pair = ['a', 'b'].map(
      (own, i) =>
        new Decoder({
          role: 'server',
          onMessage(text) {
            log.push(`${own}${text}`);
            if (Number(text) > 0) pair[1 - i].write(Buffer.concat([f.text(String(text - 1)), f.text('0')]));
          }
        })
    );
    pair[0].write(Buffer.concat([f.text('3'), f.text('0')]));
    assert.deepEqual(log, ['a3', 'b2', 'b0', 'a0', 'a1', 'b0', 'b0', 'a0']);
  });
  t.end();
});

t.test('a paused decoder keeps its frames while other decoders work', (t) => {
  const texts = Array.from({ length: 300 }, (_, i) => `text ${i}`);
  const chunk = Buffer.concat(texts.map((text) => f.text(text)));
  const others = Buffer.concat(Array.from({ length: 300 }, (_, i) => f.binary('x'.repeat(1 + (i % 100)))));
  forEachCase(createDecoders(), ({ Decoder }) => {
    for (const at of [0, 1, 100, 254, 255, 256, 298, 299]) {
      const held = Array.from({ length: 3 }, () => {
        const after = (_event, decoder) => {
          if (events.length === at + 1) decoder.pause();
        };
        const { decoder, events } = record(Decoder, { role: 'server', after });
        decoder.write(fresh(chunk));
        return { decoder, events };
      });
      record(Decoder, { role: 'server' }).decoder.write(fresh(others));
      for (const { decoder, events } of held) {
        decoder.resume();
        assert.deepEqual(
          events.map(([, text]) => text),
          texts,
          `paused at event ${at}`
        );
      }
    }
  });
  t.end();
});

// The rest of such a chunk is lost. The next chunk is decoded.
