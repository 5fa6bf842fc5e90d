import framemask, * as all from 'framemask';
import { Decoder, Encoder, mask, prepare } from 'framemask';
import { expect, test } from 'vitest';

test('each export is there', () => {
  const names = ['Decoder', 'Encoder', 'prepare', 'mask', 'unmask', 'acceptUpgrade', 'acceptHttp2', 'overHttp2'];
  for (const exported of [all, framemask]) {
    const functions = Object.entries(exported).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));
    expect(functions).toEqual(expect.arrayContaining(names));
    expect(exported).toMatchObject({ Decoder, Encoder, mask, prepare });
  }
});

test('the codec works', () => {
  const payloads = [];
  const decoder = new Decoder({ role: 'server', onMessage: (data) => payloads.push(String(data)) });
  decoder.write(Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x61]));
  expect(payloads).toEqual(['a']);
});
