'use strict';

/**
 * Says on stderr how far a benchmark has come. A terminal shows one line that changes; a log gets one line for each step.
 *
 * @param {number} total how many steps there will be
 * @returns {{ step(text: string): void, end(): void }} `step` as each of them begins
 */
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
