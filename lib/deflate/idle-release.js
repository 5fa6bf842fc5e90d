'use strict';

const { vm } = require('../shared/node-modules');

/** A context that has not been used for this long, and at most twice as long, is released. */
const IDLE_AFTER = 30_000;

/**
 * An interval that does not keep its function: by it, it would keep the modules of a test's context for
 * as long. So the code is the first context's.
 */
const repeatWeakly = vm.runInThisContext(`(call, milliseconds, setInterval, clearInterval) => {
  const held = new WeakRef(call);
  const timer = setInterval(() => {
    const call = held.deref();
    if (call === undefined) clearInterval(timer);
    else call();
  }, milliseconds);
  return timer;
}`);

const contexts = new Set();
let timer = null;

/** Has a context released when it has not been used for a while. Called at each use. */
function noteUse(context) {
  context.isUsed = true;
  if (contexts.has(context)) return;
  contexts.add(context);
  if (timer !== null) return;
  timer = repeatWeakly(releaseIdle, IDLE_AFTER, setInterval, clearInterval);
  // The process may end while it waits. Where a test has jsdom's timers, they are numbers.
  timer.unref?.();
}

/** For a context that has been released already. */
function forgetContext(context) {
  contexts.delete(context);
}

/** Releases the contexts that have not been used since the last call. */
function releaseIdle() {
  for (const context of contexts) {
    if (context.isUsed || context.isBusy) {
      context.isUsed = false;
    } else {
      contexts.delete(context);
      context.release();
    }
  }
  if (contexts.size !== 0) return;
  clearInterval(timer);
  timer = null;
}

module.exports = { forgetContext, noteUse, releaseIdle };
