'use strict';

const { note, openedOf, talk } = require('./exchange.cjs');

/** Tests that messages arrive though the timers, and process.nextTick, are fake. */
function testFakeTimers(ws) {
  test('messages arrive', async () => {
    expect(jest.isMockFunction(setTimeout) || 'clock' in setTimeout).toBe(true);
    const { received, end } = await talk(ws);
    jest.useRealTimers();
    await end();
    note(received, openedOf(ws));
  });
}

module.exports = { testFakeTimers };
