'use strict';

/** @returns {(message: string) => void} prints a message behind the seconds since this was called */
function createProgress() {
  const start = Date.now();
  return (message) => console.log(`== ${((Date.now() - start) / 1000).toFixed(1).padStart(5)} s  ${message}`);
}

/**
 * Prints a table, its columns as wide as they must be for those rows that have as many cells as the first.
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
 * @param {string} output of tests, as TAP
 * @param {{ after: number, tail: number }} lines how many are shown from each failure on, and of the end
 * @returns {string}
 */
function failuresIn(output, { after, tail }) {
  const lines = output.split('\n');
  const shown = lines.flatMap((line, i) => (/^\s*not ok/.test(line) ? lines.slice(i, i + after) : []));
  return [...shown.slice(0, 200), ...lines.slice(-tail)].join('\n');
}

module.exports = { createProgress, failuresIn, printRows };
