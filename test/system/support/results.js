'use strict';

const { inspect, isDeepStrictEqual } = require('node:util');
const { NotHere } = require('../../../scripts/support/fetch');
const { createProgress } = require('../../../scripts/support/report');

/** The parts of a check, each with its outcome: prints them as they end, and a table at the end. */
class Results {
  /** @param {string[]} [columns] of the table, between the name of a part and its outcome */
  constructor(columns = []) {
    /** Prints a message with the time. */
    this.progress = createProgress();
    this._rows = [['', ...columns, 'outcome']];
    this._counts = { passed: 0, FAILED: 0, 'NOT RUN': 0 };
  }

  /**
   * Runs a part.
   *
   * @param {string} name
   * @param {() => Promise<string[] | { cells?: string[], faults?: string[] }>} part returns its
   *   faults, and cells of the table; what it throws is a fault, unless it is NotHere
   */
  async add(name, part) {
    const began = performance.now();
    let cells = [];
    let faults = [];
    let outcome = 'passed';
    try {
      const result = await part();
      ({ cells = [], faults = [] } = Array.isArray(result) ? { faults: result } : result);
      if (faults.length > 0) outcome = 'FAILED';
    } catch (error) {
      outcome = error instanceof NotHere ? 'NOT RUN' : 'FAILED';
      faults = [error.message];
    }
    this._counts[outcome]++;
    const blank = Array(this._rows[0].length - 2).fill('');
    this._rows.push([name, ...blank.map((_, i) => cells[i] ?? ''), outcome]);
    this.progress(`${name}: ${outcome}, ${((performance.now() - began) / 1000).toFixed(1)} s`);
    for (const fault of faults) console.log(`   ${fault.replaceAll('\n', '\n   ')}`);
  }

  /** Prints the table. @returns {boolean} whether none failed, and with CI=true all were run */
  end() {
    const widths = this._rows[0].map((_, column) => Math.max(...this._rows.map((row) => row[column].length)));
    console.log();
    for (const row of this._rows) {
      const line = row.map((cell, column) => cell.padEnd(widths[column])).join('  ');
      console.log(line.trimEnd());
    }
    const { passed, FAILED: failed, 'NOT RUN': notRun } = this._counts;
    console.log(`\n${passed} passed, ${failed} failed, ${notRun} not run`);
    return failed === 0 && passed > 0 && (notRun === 0 || process.env.CI !== 'true');
  }
}

/** @returns {string[]} the actual value, unless it is the expected one */
const differences = (actual, expected) =>
  isDeepStrictEqual(actual, expected) ? [] : [`${inspect(actual)}, not ${inspect(expected)}`];

module.exports = { Results, differences };
