'use strict';

/** Shows the steps of a benchmark on stderr: a terminal shows one line that changes, a log one line for each. */
function createProgress(total) {
  const { stderr } = process;
  const started = performance.now();
  let done = 0;
  return {
    step(text) {
      const seconds = (performance.now() - started) / 1000;
      const left = done === 0 ? '' : `, ${Math.ceil((seconds / done) * (total - done))} s left`;
      done++;
      const line = `${done}/${total} ${text}${left}`;
      stderr.write(stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
    },
    end() {
      if (stderr.isTTY) stderr.write('\r\x1b[K');
    }
  };
}

module.exports = { createProgress };
