'use strict';

/**
 * @returns {(message: string) => void} prints a message after the seconds that have passed since
 *   this call
 */
function createProgress() {
  const start = performance.now();
  return (message) => console.log(`== ${((performance.now() - start) / 1000).toFixed(1).padStart(5)} s  ${message}`);
}

/**
 * Prints a table. Rows with another number of cells than the first do not count for the width of
 * its columns.
 *
 * @param {string[][]} rows
 */
function printRows(rows) {
  const complete = rows.filter((row) => row.length === rows[0].length);
  const widths = rows[0].map((_, column) => Math.max(...complete.map((row) => row[column].length)));
  console.log();
  for (const row of rows) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column]));
    console.log(cells.join('  ').trimEnd());
  }
}

/**
 * @param {string} output TAP
 * @param {{ after: number, tail: number }} lines how many to show from each failure on, and from
 *   the end of the output
 * @returns {string} the failures
 */
function failuresIn(output, { after, tail }) {
  const lines = output.split('\n');
  const shown = lines.flatMap((line, i) => (/^\s*not ok/.test(line) ? lines.slice(i, i + after) : []));
  return [...shown.slice(0, 200), ...lines.slice(-tail)].join('\n');
}

module.exports = { createProgress, failuresIn, printRows };
