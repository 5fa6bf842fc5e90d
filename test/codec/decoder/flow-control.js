'use strict';

// Whatever a handler does (pause, resume, stop, throw, write), nothing is lost, delivered twice or out of order.

const t = require('tap');
const { deflateRawSync, inflateRaw, constants } = require('node:zlib');
const { createRandom } = require('../../support/garbage');
const { framesFor } = require('../../support/frames');
const { ROLES, createDecoders, eventsOf, record, seed } = require('../../support/recorder');
const { createStreamMaker, randomCuts } = require('../../support/streams');

const DECODERS = createDecoders();

/** Handlers for everything, for messages alone, and for frames alone. */
const SILENT = { onMessage: undefined, onPing: undefined, onPong: undefined, onClose: undefined };
const VARIANTS = [{}, { frames: true }, { frames: true, ...SILENT }, { text: 'buffer' }];

/** A stream with an event of each kind, some more than once, and one that ends with an error. */
const STREAMS = {
  close: (f) => [
    f.text('Hello'),
    f.text('again'),
    f.binary('b'),
    f.ping('p'),
    f.text('é'),
    f.text('one ', { fin: false }),
    f.pong(''),
    f.continuation('two ', { fin: false }),
    f.continuation('three'),
    f.binary('x'.repeat(300)),
    f.text(''),
    f.text('y'.repeat(2000)),
    f.ping(''),
    f.close(1000, 'bye'),
    f.text('late')
  ],
  error: (f) => [f.text('a'), f.text('b', { fin: false }), f.ping('c'), f.text('d'), f.text('late')]
};

/** The chunks of a stream: one, one a frame, a byte each, and others. */
function chunkings(frames) {
  const bytes = Buffer.concat(frames);
  const pieces = (size) => {
    const chunks = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
    return chunks;
  };
  return {
    'one chunk': [bytes],
    'a frame each': frames,
    'a byte each': pieces(1),
    sevens: pieces(7),
    hundreds: pieces(100)
  };
}

/** Runs a test for each engine, role, stream, set of handlers and way to cut. */
function forEach(t, work) {
  for (const { name, Decoder } of DECODERS) {
    for (const role of ROLES) {
      for (const [ending, make] of Object.entries(STREAMS)) {
        const frames = make(framesFor(role));
        for (const variant of VARIANTS) {
          const options = { role, ...variant };
          const expected = eventsOf(Decoder, options, Buffer.concat(frames));
          for (const [how, chunks] of Object.entries(chunkings(frames))) {
            const what = `${name}, ${role}, ${ending}, ${Object.keys(variant)}, ${how}`;
            work(t, { Decoder, options, chunks, expected, what });
          }
        }
      }
    }
  }
  t.end();
}

const fresh = (chunk) => Buffer.from(chunk);

/** Not by t.strictSame for each of many: it would take longer than all the rest. */
function same(t, actual, expected, what) {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) t.strictSame(actual, expected, what);
}

/**
 * How many events there may be after the one at `k` has paused or stopped the decoder, in a message that onFrame tells of
 * first: pause leaves the frame at hand to be delivered as a whole, stop does not.
 */
function endOfFrame(expected, k) {
  const next = expected[k + 1];
  const together = expected[k][0] === 'frame' && next !== undefined && next[0] !== 'frame' && next[0] !== 'error';
  return together ? k + 2 : k + 1;
}

/** Whether nothing comes after an event: a Close frame may be told of as a frame. */
function isEnd([type, first]) {
  return type === 'close' || type === 'error' || (type === 'frame' && first === 0x88);
}

t.test('pause in each handler', (t) => {
  forEach(t, (t, { Decoder, options, chunks, expected, what }) => {
    for (let k = 0; k < expected.length; k++) {
      const after = (_event, decoder) => {
        if (events.length !== k + 1) return;
        decoder.pause();
      };
      const { decoder, events, intact } = record(Decoder, { ...options, after });
      const results = chunks.map((chunk) => decoder.write(fresh(chunk)));
      const held = endOfFrame(expected, k);
      same(t, events, expected.slice(0, held), `${what}: paused at ${k}`);
      if (isEnd(expected[held - 1])) {
        if (decoder.paused || !decoder.closed) t.fail(`${what}: what has ended can't be paused`);
      } else if (!decoder.paused || decoder.closed || results.at(-1) !== false) {
        t.fail(`${what}: paused at ${k}`);
      }
      decoder.resume();
      if (decoder.paused) t.fail(`${what}: paused after resume`);
      same(t, events, expected, `${what}: resumed after ${k}`);
      if (!intact()) t.fail(`${what}: a Buffer has changed`);
    }
  });
});

t.test('pause in every handler, resume as often as it takes', (t) => {
  forEach(t, (t, { Decoder, options, chunks, expected, what }) => {
    const { decoder, events } = record(Decoder, { ...options, after: (_event, decoder) => decoder.pause() });
    for (const chunk of chunks) {
      decoder.write(fresh(chunk));
      while (decoder.paused) {
        const before = events.length;
        decoder.resume();
        if (events.length - before > 2) t.fail(`${what}: ${events.length - before} events while paused`);
      }
    }
    same(t, events, expected, what);
  });
});

t.test('pause and resume in a handler change nothing', (t) => {
  forEach(t, (t, { Decoder, options, chunks, expected, what }) => {
    const after = (_event, decoder) => {
      const before = events.length;
      decoder.resume();
      decoder.pause();
      decoder.pause();
      decoder.resume();
      decoder.write(Buffer.alloc(0));
      if (events.length !== before) t.fail(`${what}: an event inside a handler`);
    };
    const { decoder, events } = record(Decoder, { ...options, after });
    for (const chunk of chunks) if (!decoder.write(fresh(chunk))) t.fail(`${what}: paused`);
    same(t, events, expected, what);
  });
});

t.test('stop in each handler', (t) => {
  forEach(t, (t, { Decoder, options, chunks, expected, what }) => {
    for (let k = 0; k < expected.length; k++) {
      const after = (_event, decoder) => {
        if (events.length === k + 1) decoder.stop();
      };
      const { decoder, events } = record(Decoder, { ...options, after });
      for (const chunk of chunks) if (!decoder.write(fresh(chunk))) t.fail(`${what}: stopped is not paused`);
      decoder.resume();
      if (!decoder.closed) t.fail(`${what}: not closed`);
      same(t, events, expected.slice(0, k + 1), `${what}: stopped at ${k}`);
    }
  });
});

t.test('throw from each handler', (t) => {
  forEach(t, (t, { Decoder, options, chunks, expected, what }) => {
    for (let k = 0; k < expected.length; k++) {
      const thrown = new Error('from a handler');
      const after = () => {
        if (events.length === k + 1) throw thrown;
      };
      const { decoder, events } = record(Decoder, { ...options, after });
      let caught = 0;
      for (const chunk of chunks) {
        try {
          decoder.write(fresh(chunk));
        } catch (error) {
          if (error !== thrown) throw error;
          same(t, events, expected.slice(0, endOfFrame(expected, k)), `${what}: thrown at ${k}`);
          caught++;
        }
      }
      if (caught !== 1) t.fail(`${what}: thrown at ${k}, caught ${caught} times`);
      decoder.resume();
      same(t, events, expected, `${what}: thrown at ${k}, then resumed`);
    }
  });
});

t.test('throw from every handler', (t) => {
  forEach(t, (t, { Decoder, options, chunks, expected, what }) => {
    const after = () => {
      throw new Error(`event ${events.length}`);
    };
    const { decoder, events } = record(Decoder, { ...options, after });
    const attempt = (work) => {
      const before = events.length;
      try {
        work();
      } catch (error) {
        // Of a frame and its message, the message's error.
        if (error.message !== `event ${events.length}`) throw error;
        return true;
      }
      if (events.length !== before) t.fail(`${what}: an error got lost`);
      return false;
    };
    for (const chunk of chunks) attempt(() => decoder.write(fresh(chunk)));
    while (attempt(() => decoder.resume()));
    same(t, events, expected, what);
  });
});

t.test('throw and pause at once', (t) => {
  forEach(t, (t, { Decoder, options, chunks, expected, what }) => {
    const after = (_event, decoder) => {
      decoder.pause();
      throw new Error('from a handler');
    };
    const { decoder, events } = record(Decoder, { ...options, after });
    for (const chunk of chunks) {
      const before = events.length;
      const { paused } = decoder;
      try {
        decoder.write(fresh(chunk));
      } catch {}
      if (paused && events.length !== before) t.fail(`${what}: an event while paused`);
    }
    for (let i = 0; i < 3 * expected.length; i++) {
      try {
        decoder.resume();
      } catch {}
    }
    same(t, events, expected, what);
  });
});

t.test('hundreds of frames in a chunk, paused, stopped and thrown from at each', (t) => {
  for (const { name, Decoder } of DECODERS) {
    for (const role of ROLES) {
      const f = framesFor(role);
      const frames = Array.from({ length: 600 }, (_, i) => (i % 11 === 0 ? f.ping(String(i)) : f.text(String(i))));
      const bytes = Buffer.concat([...frames, f.binary('across chunks')]);
      const chunks = [bytes.subarray(0, bytes.length - 5), bytes.subarray(bytes.length - 5)];
      const expected = eventsOf(Decoder, { role }, bytes);
      t.equal(expected.length, 601, `${name}, ${role}`);
      for (let k = 0; k < expected.length; k++) {
        const act = (work) => {
          const after = (_event, decoder) => {
            if (events.length === k + 1) work(decoder);
          };
          const { decoder, events } = record(Decoder, { role, after });
          return { decoder, events };
        };
        const paused = act((decoder) => decoder.pause());
        for (const chunk of chunks) paused.decoder.write(fresh(chunk));
        same(t, paused.events, expected.slice(0, k + 1), `paused at ${k}`);
        paused.decoder.resume();
        same(t, paused.events, expected, `resumed after ${k}`);

        const stopped = act((decoder) => decoder.stop());
        for (const chunk of chunks) stopped.decoder.write(fresh(chunk));
        same(t, stopped.events, expected.slice(0, k + 1), `stopped at ${k}`);

        const thrown = act(() => {
          throw new Error('from a handler');
        });
        for (const chunk of chunks) {
          try {
            thrown.decoder.write(fresh(chunk));
          } catch {
            same(t, thrown.events, expected.slice(0, k + 1), `thrown at ${k}`);
          }
        }
        thrown.decoder.resume();
        same(t, thrown.events, expected, `resumed after the error at ${k}`);
      }
    }
  }
  t.end();
});

t.test('pause, resume and stop from outside', (t) => {
  for (const { Decoder } of DECODERS) {
    const f = framesFor('server');
    const { decoder, events } = record(Decoder, { role: 'server' });
    decoder.resume();
    t.equal(decoder.paused, false);
    t.equal(decoder.closed, false);
    decoder.pause();
    decoder.pause();
    t.equal(decoder.paused, true);
    t.equal(decoder.write(f.text('a')), false);
    t.equal(decoder.write(Buffer.alloc(0)), false);
    t.equal(decoder.write(f.text('b')), false);
    t.strictSame(events, []);
    decoder.resume();
    t.equal(decoder.paused, false);
    t.equal(events.length, 2);
    t.equal(decoder.write(f.text('c')), true);
    t.equal(events.length, 3);

    // In the middle of a header, of a payload, of a message.
    const bytes = Buffer.concat([f.text('d', { fin: false }), f.continuation('e')]);
    for (let i = 0; i < bytes.length; i++) {
      decoder.write(fresh(bytes.subarray(i, i + 1)));
      decoder.pause();
      decoder.resume();
    }
    t.strictSame(events.at(-1), ['string', 'de', false, false]);

    decoder.pause();
    decoder.write(f.text('held'));
    decoder.stop();
    decoder.stop();
    t.equal(decoder.closed, true);
    t.equal(decoder.paused, false);
    decoder.pause();
    t.equal(decoder.paused, false);
    decoder.resume();
    t.equal(decoder.write(f.text('late')), true);
    t.equal(events.length, 4);

    for (const part of [f.text('abc').subarray(0, 3), f.text('abc').subarray(0, 8), f.text('abc', { fin: false })]) {
      const other = record(Decoder, { role: 'server' });
      other.decoder.write(fresh(part));
      other.decoder.stop();
      other.decoder.write(f.text('late'));
      t.strictSame(other.events, []);
    }
  }
  t.end();
});

t.test('write from a handler', (t) => {
  for (const { name, Decoder } of DECODERS) {
    for (const role of ROLES) {
      const f = framesFor(role);
      for (const variant of VARIANTS) {
        const frames = STREAMS.close(f).slice(0, -2);
        const extra = [f.ping('extra'), f.text('of many'), f.text('frames')];
        const options = { role, ...variant };
        const first = eventsOf(Decoder, options, Buffer.concat(frames));
        const second = eventsOf(Decoder, options, Buffer.concat(extra));
        for (let k = 0; k < first.length; k++) {
          const after = (_event, decoder) => {
            if (events.length !== k + 1) return;
            // In pieces, of which the second comes while the first waits.
            const bytes = Buffer.concat(extra);
            t.equal(decoder.write(bytes.subarray(0, 5)), true);
            decoder.write(bytes.subarray(5));
            if (events.length !== k + 1) t.fail('delivered inside a handler');
          };
          const { decoder, events } = record(Decoder, { ...options, after });
          decoder.write(Buffer.concat(frames));
          t.strictSame(
            events,
            [...first, ...second],
            `${name}, ${role}: written at ${k}, delivered when its turn comes`
          );
        }
      }
      // Each message brings one more; no recursion, however many.
      let left = 20000;
      const decoder = new Decoder({
        role,
        onMessage() {
          if (left-- > 0) decoder.write(f.text('more'));
        }
      });
      decoder.write(Buffer.concat([f.text('more')]));
      t.equal(left, -1);
    }
  }
  t.end();
});

t.test('other decoders fed from a handler', (t) => {
  // Each level has a chunk of many frames under way, so needs a table of its own.
  for (const { name, Decoder } of DECODERS) {
    const f = framesFor('server');
    const texts = Array.from({ length: 12 }, (_, i) => `text ${i}`);
    const chunk = Buffer.concat(texts.map((text) => f.text(text)));
    const got = [];
    const feed = (depth) => {
      // Frames of another size in each, so that a table of another would be a wrong one.
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
      got.push(JSON.stringify(seen) === JSON.stringify(own));
    };
    feed(3);
    t.equal(got.length, 1 + 12 + 144 + 1728);
    t.notOk(got.includes(false), name);

    // One that throws from inside another, and is resumed from inside a third.
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
    t.throws(() => decoder.write(fresh(chunk)), { message: 'from the inner one' });
    t.equal(events.length, 4);
    t.equal(outer.length, 3);
    decoder.resume();
    t.strictSame(outer, texts);
    t.strictSame(
      events.map(([, text]) => text),
      texts
    );

    // Two that feed each other: what is under way takes no more until its turn comes.
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
    t.strictSame(log, ['a3', 'b2', 'b0', 'a0', 'a1', 'b0', 'b0', 'a0'], 'a is at work while b is');
  }
  t.end();
});

t.test('what one decoder has yet to deliver, while others are at work', (t) => {
  for (const { name, Decoder } of DECODERS) {
    const f = framesFor('server');
    const texts = Array.from({ length: 300 }, (_, i) => `text ${i}`);
    const chunk = Buffer.concat(texts.map((text) => f.text(text)));
    const others = Buffer.concat(Array.from({ length: 300 }, (_, i) => f.binary('x'.repeat(1 + (i % 100)))));
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
        t.strictSame(
          events.map(([, text]) => text),
          texts,
          `${name}, paused at ${at}`
        );
      }
    }
  }
  t.end();
});

t.test('a decoder that has ended holds nothing', (t) => {
  const isObject = (value) => typeof value === 'object' && value !== null;
  const holds = (value) =>
    ArrayBuffer.isView(value) || Array.isArray(value) || Object.values(value).filter(isObject).some(holds);
  for (const { Decoder } of DECODERS) {
    const f = framesFor('server');
    const many = Buffer.concat([f.text('a'), f.text('b'), f.binary('c'), f.close(1000), f.text('d'), f.text('e')]);
    for (let at = 0; at < 4; at++) {
      let events = 0;
      const stop = () => {
        if (events++ === at) decoder.stop();
      };
      const decoder = new Decoder({ role: 'server', onMessage: stop, onClose: stop });
      decoder.write(fresh(many));
      t.equal(decoder.closed, true);
      t.notOk(holds(decoder), `stopped at ${at}`);
    }
    for (const start of [f.text('abc').subarray(0, 3), f.text('abc').subarray(0, 8), f.text('abc', { fin: false })]) {
      const decoder = new Decoder({ role: 'server' });
      decoder.write(fresh(start));
      t.ok(holds(decoder));
      decoder.stop();
      t.notOk(holds(decoder));
    }
    const paused = new Decoder({ role: 'server', onMessage: () => paused.pause() });
    paused.write(fresh(many));
    paused.write(fresh(many));
    t.ok(holds(paused));
    paused.stop();
    t.notOk(holds(paused));
  }
  t.end();
});

t.test('throw from onError and onClose', (t) => {
  for (const { Decoder } of DECODERS) {
    const f = framesFor('client');
    for (const [name, bytes] of [
      ['onError', f.frame(3)],
      ['onClose', f.close(1000)]
    ]) {
      for (const before of [[], [f.text('a'), f.text('b')]]) {
        let calls = 0;
        const decoder = new Decoder({
          role: 'client',
          [name]() {
            calls++;
            throw new Error(name);
          }
        });
        t.throws(() => decoder.write(Buffer.concat([...before, bytes, f.text('late')])), { message: name });
        t.equal(decoder.closed, true);
        t.equal(decoder.write(f.text('late')), true);
        decoder.resume();
        t.equal(calls, 1);
      }
    }
  }
  t.end();
});

t.test('a handler that transfers the memory of what it got', { timeout: 20000 }, (t) => {
  // What is left of the chunk is gone then, and is never taken for anything else. The next chunk is decoded as ever.
  const owned = (...frames) => {
    const bytes = Buffer.concat(frames);
    const chunk = Buffer.from(new ArrayBuffer(bytes.length));
    bytes.copy(chunk);
    return chunk;
  };
  for (const { Decoder } of DECODERS) {
    const f = framesFor('server');
    for (const rest of [[], [Buffer.from([0x82])], [f.binary('y'.repeat(100)).subarray(0, 50)], [f.binary('z')]]) {
      const got = [];
      const decoder = new Decoder({
        role: 'server',
        onMessage(data) {
          got.push(data.toString());
          if (got.length === 1) structuredClone(data.buffer, { transfer: [data.buffer] });
        }
      });
      decoder.write(owned(f.binary('x'), ...rest));
      decoder.write(f.binary('next'));
      t.strictSame(got, ['x', 'next']);
    }
  }
  t.end();
});

const TAIL = Buffer.from('0000ffff', 'hex');

/** permessage-deflate (RFC 7692) without context takeover. */
function deflate(text) {
  const bytes = deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH });
  return bytes.subarray(0, bytes.length - 4);
}

t.test('an extension that answers later', async (t) => {
  for (const { name, Decoder } of DECODERS) {
    for (const role of ROLES) {
      const f = framesFor(role);
      const frames = [];
      const expected = [];
      for (let i = 0; i < 200; i++) {
        const text = `message ${i} `.repeat(1 + (i % 9));
        expected.push(text);
        if (i % 3 === 0) {
          const data = deflate(text);
          const half = data.length >> 1;
          if (i % 2 === 0) frames.push(f.text(data, { rsv: 0x40 }));
          else {
            frames.push(f.text(data.subarray(0, half), { rsv: 0x40, fin: false }), f.ping(`during ${i}`));
            expected.splice(-1, 0, `ping during ${i}`);
            frames.push(f.continuation(data.subarray(half)));
          }
        } else if (i % 3 === 1) {
          frames.push(f.text(text));
        } else {
          frames.push(f.ping(text.slice(0, 60)));
          expected.splice(-1, 1, `ping ${text.slice(0, 60)}`);
        }
      }
      frames.push(f.close(1000));
      expected.push('close 1000');
      const bytes = Buffer.concat(frames);

      for (const size of [bytes.length, 1000, 64, 1]) {
        for (const heedful of [true, false]) {
          if (size === 1 && !heedful) continue;
          const got = [];
          const done = Promise.withResolvers?.() ?? withResolvers();
          let resumed = null;
          const decoder = new Decoder({
            role,
            rsv1: true,
            onMessage(data, _isBinary, rsv1) {
              if (!rsv1) {
                got.push(data);
                return;
              }
              this.pause();
              const before = got.length;
              inflateRaw(Buffer.concat([data, TAIL]), { finishFlush: constants.Z_SYNC_FLUSH }, (error, inflated) => {
                if (error) done.reject(error);
                if (got.length !== before) t.fail('delivered before the message that is inflated');
                got.push(String(inflated));
                this.resume();
                resumed?.();
              });
            },
            onPing: (payload) => got.push(`ping ${payload}`),
            onClose(code) {
              got.push(`close ${code}`);
              done.resolve();
            }
          });
          for (let at = 0; at < bytes.length; at += size) {
            if (decoder.write(fresh(bytes.subarray(at, at + size))) || !heedful) continue;
            // As whoever reads a socket does: nothing more until the decoder is resumed for good.
            while (decoder.paused) {
              await new Promise((resolve) => {
                resumed = resolve;
              });
            }
          }
          await done.promise;
          if (JSON.stringify(got) !== JSON.stringify(expected)) t.strictSame(got, expected, `chunks of ${size}`);
        }
      }
      t.pass(`${name}, ${role}`);
    }
  }
});

function withResolvers() {
  const result = {};
  result.promise = new Promise((resolve, reject) => {
    result.resolve = resolve;
    result.reject = reject;
  });
  return result;
}

t.test(`random streams, and handlers that do anything (seed ${seed})`, (t) => {
  const random = createRandom(seed);
  const makeStream = createStreamMaker(random, { rsv1: true, longest: 3000 });
  const few = Buffer.concat(Array(9).fill(framesFor('client').text('for another decoder')));
  let acts = 0;
  for (let i = 0; i < 3000; i++) {
    const role = ROLES[random(2)];
    const options = { role, rsv1: random(3) > 0, ...VARIANTS[random(VARIANTS.length)] };
    const bytes = makeStream(role);
    const cuts = [...randomCuts(random, bytes.length), bytes.length];
    const { Decoder } = DECODERS[random(DECODERS.length)];
    const other = new Decoder({ role: 'client', onMessage() {} });
    const after = (_event, decoder) => {
      acts++;
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
          other.write(fresh(few));
          break;
        case 4:
          decoder.pause();
          throw new Error('from a handler');
        default:
      }
    };
    const { decoder, events, intact } = record(Decoder, { ...options, after });
    const attempt = (work) => {
      try {
        work();
        return true;
      } catch (error) {
        if (error.message !== 'from a handler') throw error;
        return false;
      }
    };
    try {
      // Without frames of bad text: whether they are told of depends on how they are cut (see chunk-boundaries.js).
      const expected = eventsOf(Decoder, options, bytes, cuts.slice(0, -1));
      let start = 0;
      for (const end of cuts) {
        attempt(() => decoder.write(fresh(bytes.subarray(start, end))));
        if (random(2) === 0) attempt(() => decoder.resume());
        start = end;
      }
      while (!attempt(() => decoder.resume()) || decoder.paused);
      if (JSON.stringify(events) !== JSON.stringify(expected) || !intact()) {
        t.strictSame(events, expected, `seed ${seed}, stream ${i}`);
        break;
      }
    } catch (error) {
      t.error(error, `seed ${seed}, stream ${i}`);
      break;
    }
  }
  t.ok(acts > 3000, `${acts} events`);
  t.end();
});
