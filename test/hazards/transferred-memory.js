'use strict';

// A handler, a subscriber or a sink may transfer any memory that it is given, to a worker for
// example. What is lost with that memory ends its decoder with one error; no other connection
// notices.

const assert = require('node:assert/strict');
const t = require('tap');
const { Encoder } = require('../../lib/codec/encoder');
const { prepare } = require('../../lib/codec/prepared');
const { assertBytes, forEachCase } = require('../support/cases');
const { forEachDecoder } = require('../support/decoders');

const DETACHED = 'FRAMEMASK_ERR_DETACHED';

/** A copy whose memory is its own: what lies in Node's pool can't be transferred. */
function fresh(bytes) {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

function transfer(bytes) {
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
}

t.test('an empty payload is memory of its own', (t) => {
  forEachDecoder(({ Decoder, role, f }) => {
    const empties = [f.binary(''), f.text(''), f.ping(''), f.pong(''), f.close()];
    const fragments = [f.binary('', { fin: false }), f.continuation('')];
    forEachCase([...empties, Buffer.concat(fragments)], (bytes) => {
      const options = { role, text: 'buffer', onMessage: transfer, onPing: transfer, onPong: transfer, onError() {} };
      for (let at = 0; at <= bytes.length; at++) {
        const decoder = new Decoder({ ...options, onFrame: (_first, memory) => at % 2 === 0 && transfer(memory) });
        decoder.write(fresh(bytes.subarray(0, at)));
        decoder.write(fresh(bytes.subarray(at)));
      }
      const encoder = new Encoder({ role: 'server' });
      assert.ok(encoder.ping() && encoder.pong() && encoder.close(), 'other connections go on');
      assertBytes(Buffer.concat(encoder.take()), Buffer.from('89008a008800', 'hex'));
    });
  });
  t.end();
});

t.test('frames behind a transferred one end the decoder with one error', (t) => {
  forEachDecoder(({ Decoder, role, f }) => {
    const first = f.binary('first');
    forEachCase(
      [
        { name: 'text', rest: [f.text('pending')] },
        { name: 'text that is not ASCII', rest: [f.text('é')] },
        { name: 'binary', rest: [f.binary('pending'), f.binary('more')] },
        { name: 'a ping', rest: [f.ping('ping')] },
        { name: 'a fragment', rest: [f.text('begin', { fin: false }), f.continuation('end')] },
        { name: 'half a frame', rest: [f.binary('pending').subarray(0, 9)] },
        { name: 'half a header', rest: [f.binary('pending').subarray(0, 1)] },
        { name: 'hundreds of frames', rest: Array(600).fill(f.text('x')) }
      ],
      ({ rest }) => {
        const errors = [];
        const messages = [];
        const decoder = new Decoder({
          role,
          onMessage(data) {
            messages.push(data.length);
            if (messages.length === 1) transfer(data);
          },
          onError: (error) => errors.push([error.code, error.closeCode])
        });
        decoder.write(fresh(Buffer.concat([first, ...rest])));
        assert.deepEqual(messages, [5]);
        assert.deepEqual(errors, [[DETACHED, 1011]]);
        assert.equal(decoder.closed, true);
        decoder.write(f.ping());
        assert.equal(errors.length, 1, 'one error');
      }
    );
    const alone = [];
    const decoder = new Decoder({
      role,
      onMessage(data) {
        alone.push(data.toString());
        transfer(data);
      }
    });
    for (let i = 0; i < 3; i++) decoder.write(fresh(first));
    assert.deepEqual(alone, ['first', 'first', 'first'], 'chunks with nothing behind');
  });
  t.end();
});

t.test('a chunk that is transferred while the decoder is paused', (t) => {
  forEachDecoder(({ Decoder, role, f }) => {
    const errors = [];
    const decoder = new Decoder({
      role,
      onMessage() {
        decoder.pause();
      },
      onError: (error) => errors.push(error.code)
    });
    const held = fresh(f.text('later'));
    decoder.write(fresh(Buffer.concat([f.text('now'), f.text('then')])));
    decoder.write(held);
    transfer(held);
    decoder.resume();
    assert.deepEqual(errors, [], 'the chunk before it is there');
    decoder.resume();
    assert.deepEqual(errors, [DETACHED]);
  });
  t.end();
});

t.test('onFrame may transfer what it is shown: a gathered payload, then or later', (t) => {
  forEachDecoder(({ Decoder, role, f }) => {
    forEachCase([f.text('hello'), f.binary('hello'), f.ping('hello')], (bytes) => {
      const errors = [];
      const onMessage = () => assert.fail('delivered');
      const decoder = new Decoder({
        role,
        onFrame: (_first, memory) => transfer(memory),
        onMessage,
        onPing: onMessage,
        onError: (error) => errors.push(error.code)
      });
      for (const byte of bytes) decoder.write(Buffer.of(byte));
      assert.deepEqual(errors, [DETACHED]);
    });
    let kept = null;
    const errors = [];
    const decoder = new Decoder({
      role,
      onFrame(_first, memory) {
        kept ??= memory;
      },
      onMessage: () => assert.fail('delivered'),
      onError: (error) => errors.push(error.code)
    });
    for (const byte of f.text('hello', { fin: false })) decoder.write(Buffer.of(byte));
    transfer(kept);
    decoder.write(f.continuation('world'));
    assert.deepEqual(errors, [DETACHED], 'between two fragments');
  });
  t.end();
});

t.test('text that onFrame has seen is not gathered in memory that serves others', (t) => {
  forEachDecoder(({ Decoder, role, f }) => {
    const shown = new Set();
    const onFrame = (_first, memory) => shown.add(memory.buffer);
    const bytes = f.text('a'.repeat(60_000));
    for (let i = 0; i < 3; i++) {
      const decoder = new Decoder({ role, onFrame, onMessage() {} });
      for (let at = 0; at < bytes.length; at += 20_000) decoder.write(fresh(bytes.subarray(at, at + 20_000)));
    }
    assert.equal(shown.size, 3);
  });
  t.end();
});

t.test('take and sinks get memory of their connection alone', (t) => {
  const sinkOf = (received, options) => ({
    writable: true,
    writableLength: 0,
    write(bytes) {
      received.push(Buffer.from(bytes));
      transfer(bytes);
      return true;
    },
    ...options
  });
  forEachCase([true, false], (recycle) => {
    for (const role of ['server', 'client']) {
      const own = new Encoder({ role, recycle });
      const other = new Encoder({ role, recycle });
      for (let i = 0; i < 20; i++) {
        other.text(`text ${i} of another connection`);
        own.binary(Buffer.alloc(100 * i));
        for (const bytes of own.take()) transfer(bytes);
        own.binary(Buffer.alloc(1000 * i));
        own.flush(sinkOf([]));
        own.ping('behind');
        own.flush(sinkOf([], { writableLength: 7 }));
      }
      const sent = other.take();
      assert.equal(Buffer.concat(sent).length, 570 + 20 * (role === 'server' ? 2 : 6));
      assert.equal(own.text('goes on'), true);
    }
  });
  t.end();
});

t.test('memory that is transferred while frames wait in it costs its own connection those frames', (t) => {
  forEachCase(['server', 'client'], (role) => {
    const own = new Encoder({ role });
    const other = new Encoder({ role });
    own.text('first');
    const [first] = own.take();
    own.text('lost');
    other.text('of another connection');
    transfer(first);
    assert.equal(own.text('behind'), true, 'sent behind the lost frame');
    assert.throws(() => own.take(), TypeError);
    assert.equal(own.pending, 0, 'pending');
    const size = role === 'server' ? 2 : 6;
    for (const text of ['goes on', 'and on']) {
      own.text(text);
      assert.equal(Buffer.concat(own.take()).length, size + text.length, text);
    }
    assert.equal(Buffer.concat(other.take()).length, size + 21, 'the other connection');
  });
  t.end();
});

t.test('frames that a sink has transferred away with earlier ones are lost, and no other bytes are sent', (t) => {
  for (const send of [(encoder) => encoder.take(), (encoder) => encoder.flush({ write: () => assert.fail('sent') })]) {
    const encoder = new Encoder({ role: 'server' });
    encoder.text('first');
    const [first] = encoder.take();
    encoder.text('in the same memory');
    transfer(first);
    encoder.text('behind it');
    t.throws(() => send(encoder), TypeError);
    encoder.text('later');
    t.same(encoder.take(), [Buffer.from('\x81\x05later', 'latin1')]);
  }
  t.end();
});

t.test('detached data is refused by both roles, with a code', (t) => {
  forEachCase(['server', 'client'], (role) => {
    const encoder = new Encoder({ role });
    const gone = (bytes) => {
      transfer(bytes);
      return bytes;
    };
    const error = { code: 'ERR_INVALID_ARG_TYPE', message: /detached/ };
    for (const size of [10, 100_000]) {
      assert.throws(() => encoder.binary(gone(Buffer.allocUnsafeSlow(size))), error, 'a Buffer');
      assert.throws(() => encoder.text(gone(Buffer.allocUnsafeSlow(size))), error, 'text');
      assert.throws(() => encoder.binary(gone(new Float64Array(size))), error, 'another view');
      assert.throws(() => encoder.binary(gone(new DataView(new ArrayBuffer(size)))), error, 'a DataView');
      assert.throws(() => encoder.binary(gone(new Uint8Array(size)).buffer), error, 'an ArrayBuffer');
      assert.throws(() => prepare(gone(Buffer.allocUnsafeSlow(size))), error, 'prepare');
    }
    assert.throws(() => encoder.ping(gone(Buffer.allocUnsafeSlow(10))), error, 'a ping');
    assert.throws(() => encoder.close(1000, gone(Buffer.allocUnsafeSlow(10))), error, 'a reason');
    assert.equal(encoder.pending, 0);
    assert.equal(encoder.closed, false);
  });
  forEachDecoder(({ Decoder, role }) => {
    const chunk = Buffer.allocUnsafeSlow(10);
    transfer(chunk);
    const decoder = new Decoder({ role });
    assert.throws(() => decoder.write(chunk), { code: 'ERR_INVALID_ARG_TYPE', message: /detached/ });
    decoder.write(Buffer.alloc(0));
    assert.equal(decoder.closed, false);
  });
  t.end();
});
