'use strict';

const { setImmediate } = require('node:timers/promises');

/**
 * Has candidates for a `race` work until V8 has compiled the whole of what they do, which takes a codec more than the
 * first turns of a race: ws's Sender needs 600 ns a message before that, and 75 after.
 *
 * @param {Record<string, (calls: number) => void>} candidates
 * @param {number} milliseconds for each of them
 */
async function warmUp(candidates, milliseconds) {
  for (const repeat of Object.values(candidates)) {
    const end = performance.now() + milliseconds;
    while (performance.now() < end) {
      repeat(1);
      // The compiler, which is another thread, hands its work over between tasks.
      await setImmediate();
    }
  }
}

module.exports = { warmUp };
