'use strict';

jest.mock('framemask');

const framemask = require('framemask');

test('classes and functions of the codec are mocks', () => {
  const decoder = new framemask.Decoder({ role: 'server' });
  expect(decoder.write(Buffer.from([0x81, 0x80, 0, 0, 0, 0]))).toBe(undefined);
  expect(decoder.write.mock.calls.length).toBe(1);
  const actual = jest.requireActual('framemask');
  const functions = Object.keys(actual).filter((name) => typeof actual[name] === 'function');
  expect(functions).toEqual(expect.arrayContaining(['Decoder', 'Encoder', 'mask', 'acceptUpgrade', 'overHttp2']));
  expect(functions.filter((name) => !jest.isMockFunction(framemask[name]))).toEqual([]);
  // The actual one works.
  const payloads = [];
  const onMessage = (data) => payloads.push(String(data));
  new actual.Decoder({ role: 'server', onMessage }).write(Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x61]));
  expect(payloads).toEqual(['a']);
});
