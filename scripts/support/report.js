'use strict';

/**
 * @returns {(message: string) => void} prints a message after the seconds that have passed since
 *   this call
 */
function createProgress() {
  const start = performance.now();
  return (message) => console.log(`== ${((performance.now() - start) / 1000).toFixed(1).padStart(5)} s  ${message}`);
}

module.exports = { createProgress };
