'use strict';

// ws is loaded when the timers, and process.nextTick, are fake already.

const { note, openedOf, talk } = require('./exchange.cjs');

jest.useFakeTimers();
const ws = require('ws');

test('messages arrive', async () => {
  expect(jest.isMockFunction(setTimeout) || 'clock' in setTimeout).toBe(true);
  const { received, end } = await talk(ws);
  jest.useRealTimers();
  await end();
  note(received, openedOf(ws));
});
