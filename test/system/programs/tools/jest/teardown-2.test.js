'use strict';

// Runs while the connection of teardown-1 ends: an exception of that would fail this test.

const fs = require('node:fs');

test('the connection that was left has ended', async () => {
  const began = Date.now();
  while (!fs.existsSync(process.env.FRAMEMASK_TEST_NOTES) && Date.now() - began < 4000) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(fs.existsSync(process.env.FRAMEMASK_TEST_NOTES)).toBe(true);
});
