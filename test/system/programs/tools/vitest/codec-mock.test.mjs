import * as framemask from 'framemask';
import { expect, test, vi } from 'vitest';

vi.mock('framemask');

test('classes and functions of the codec are mocks', async () => {
  const decoder = new framemask.Decoder({ role: 'server' });
  expect(decoder.write(Buffer.from([0x81, 0x80, 0, 0, 0, 0]))).toBe(undefined);
  expect(decoder.write.mock.calls.length).toBe(1);
  const actual = await vi.importActual('framemask');
  const functions = Object.keys(actual).filter((name) => typeof actual[name] === 'function');
  expect(functions).toEqual(expect.arrayContaining(['Decoder', 'Encoder', 'mask', 'acceptUpgrade', 'overHttp2']));
  const mocks = Object.entries(framemask).flatMap(([name, value]) => (vi.isMockFunction(value) ? [name] : []));
  expect(functions.filter((name) => !mocks.includes(name))).toEqual([]);
});
