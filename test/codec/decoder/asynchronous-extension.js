'use strict';

// An extension that answers later, such as permessage-deflate: onMessage pauses the decoder and
// inflates, and the callback resumes it. Later messages wait.

const assert = require('node:assert/strict');
const t = require('tap');
const { constants, deflateRawSync, inflateRaw } = require('node:zlib');
const { DECODER_CASES } = require('../../support/decoders');

/** What an inflater must add to a message (RFC 7692 section 7.2.2). */
const TAIL = Buffer.from('0000ffff', 'hex');

/** permessage-deflate without context takeover (RFC 7692 section 7.2.1). */
function deflate(text) {
  const bytes = deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH });
  return bytes.subarray(0, bytes.length - TAIL.length);
}

/**
 * A third of the messages is compressed, some of those in two fragments with a Ping frame between
 * them.
 */
function createStream(f) {
  const frames = [];
  const expected = [];
  for (let i = 0; i < 200; i++) {
    const text = `message ${i} `.repeat(1 + (i % 9));
    if (i % 3 === 1) {
      frames.push(f.text(text));
      expected.push(text);
    } else if (i % 3 === 2) {
      frames.push(f.ping(text.slice(0, 60)));
      expected.push(`ping ${text.slice(0, 60)}`);
    } else if (i % 2 === 0) {
      frames.push(f.text(deflate(text), { rsv: 0x40 }));
      expected.push(text);
    } else {
      const data = deflate(text);
      const half = data.length >> 1;
      frames.push(f.text(data.subarray(0, half), { rsv: 0x40, fin: false }));
      frames.push(f.ping(`during ${i}`), f.continuation(data.subarray(half)));
      expected.push(`ping during ${i}`, text);
    }
  }
  frames.push(f.close(1000));
  expected.push('close 1000');
  return { bytes: Buffer.concat(frames), expected };
}

/**
 * Decodes a stream in chunks of `size` bytes. A `heedful` caller writes nothing to a decoder that
 * is paused.
 *
 * @returns {Promise<string[]>} what was delivered
 */
function inflateStream({ Decoder, role }, bytes, size, heedful) {
  return new Promise((resolve, reject) => {
    const got = [];
    let at = 0;
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
          if (error) return reject(error);
          if (got.length !== before) return reject(new Error(`${got.at(-1)} was delivered before ${inflated}`));
          got.push(String(inflated));
          this.resume();
          writeOn();
        });
      },
      onPing: (payload) => got.push(`ping ${payload}`),
      onClose(code) {
        got.push(`close ${code}`);
        resolve(got);
      },
      onError: reject
    });

    function writeOn() {
      while (at < bytes.length && !(heedful && decoder.paused)) {
        decoder.write(Buffer.from(bytes.subarray(at, at + size)));
        at += size;
      }
    }
    writeOn();
  });
}

for (const one of DECODER_CASES) {
  t.test(`an extension that answers later: messages stay in order, ${one.name}`, async (t) => {
    const { bytes, expected } = createStream(one.f);
    for (const size of [bytes.length, 1000, 64, 1]) {
      for (const heedful of size === 1 ? [true] : [true, false]) {
        const got = await inflateStream(one, bytes, size, heedful);
        assert.deepEqual(got, expected, `chunks of ${size} bytes, ${heedful ? '' : 'not '}waiting while paused`);
      }
    }
    t.end();
  });
}
