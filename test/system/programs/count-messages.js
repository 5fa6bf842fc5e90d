'use strict';

// Loaded before a program, with --require. Counts the messages that receivers of `ws` deliver, and
// the chunks that framemask's Decoder reads, and writes both, and the largest memory, to a file
// at the end: a program that still uses `ws` would pass each comparison with `ws`.

const fs = require('node:fs');

const counts = { messages: 0, chunks: 0 };

/** Calls `note` with the object at each call of a method. */
function watch(prototype, method, note) {
  const original = prototype[method];
  prototype[method] = function (...args) {
    note(this);
    return original.apply(this, args);
  };
}

// Dependencies may have a `ws` of their own.
for (const file of JSON.parse(process.env.FRAMEMASK_TEST_RECEIVERS)) {
  watch(require(file).prototype, 'dataMessage', (receiver) => {
    // framemask/ws has ws's error for a bad frame from a receiver that nobody listens to.
    if (receiver.listenerCount('message') > 0) counts.messages++;
  });
}
watch(require('framemask').Decoder.prototype, 'write', () => counts.chunks++);

process.on('exit', () => {
  const memory = process.resourceUsage().maxRSS * 1024;
  fs.writeFileSync(process.env.FRAMEMASK_TEST_COUNTS, JSON.stringify({ ...counts, memory }));
});
