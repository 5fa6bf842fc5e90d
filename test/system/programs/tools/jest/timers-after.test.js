'use strict';

// The timers, and process.nextTick, become fake when ws is loaded.

const ws = require('ws');
const { note, openedOf, talk } = require('./exchange.cjs');

jest.useFakeTimers();

test('messages arrive', async () => {
  expect(jest.isMockFunction(setTimeout) || 'clock' in setTimeout).toBe(true);
  const { received, end } = await talk(ws);
  jest.useRealTimers();
  await end();
  note(received, openedOf(ws));
});
