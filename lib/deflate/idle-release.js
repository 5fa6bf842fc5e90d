'use strict';

const { vm } = require('../shared/node-modules');
const { ofProcess } = require('../shared/of-process');

/** A context that has not been used for this long, and at most twice as long, is released. */
const IDLE_AFTER = 30_000;

/**
 * One interval for all copies. A timer keeps its function, and the AsyncLocalStorage store in which
 * it was set, such as that of a test file. So the code is the first context's, and refers to the
 * functions of copies weakly. A function that returns false is called no more.
 */
const REPEATER = `(milliseconds) => {
  const calls = new Set();
  let timer = null;
  const run = () => {
    for (const held of calls) if (held.deref()?.() !== true) calls.delete(held);
    if (calls.size !== 0) return;
    clearInterval(timer);
    timer = null;
  };
  return (call) => {
    calls.add(new WeakRef(call));
    timer ??= setInterval(run, milliseconds);
    // The process may end while it waits.
    timer.unref();
  };
}`;
const repeat = ofProcess('repeat.1', () => vm.runInThisContext(REPEATER)(IDLE_AFTER));

const contexts = new Set();
let isRepeated = false;

/** Has a context released when it has not been used for a while. Called at each use. */
function noteUse(context) {
  context.isUsed = true;
  if (contexts.has(context)) return;
  contexts.add(context);
  if (isRepeated) return;
  isRepeated = true;
  repeat(releaseIdle);
}

/** For a context that has been released already. */
function forgetContext(context) {
  contexts.delete(context);
}

/**
 * Releases the contexts that have not been used since the last call.
 *
 * @returns {boolean} whether some are left
 */
function releaseIdle() {
  for (const context of contexts) {
    if (context.isUsed || context.isBusy) {
      context.isUsed = false;
    } else {
      contexts.delete(context);
      context.release();
    }
  }
  isRepeated = contexts.size !== 0;
  return isRepeated;
}

module.exports = { forgetContext, noteUse, releaseIdle };
