'use strict';

const { NotHere } = require('../../support/fetch');

/** The parts of a check, each with its outcome: prints them as they end, and a table at the end. */
class Results {
  /**
   * @param {string[]} head of the table, without the outcome
   * @param {(message: string) => void} progress
   */
  constructor(head, progress) {
    this._progress = progress;
    this._rows = [['', ...head, 'outcome']];
    this._counts = { passed: 0, FAILED: 0, 'NOT RUN': 0 };
  }

  /**
   * Runs a part.
   *
   * @param {string} name
   * @param {() => Promise<{ cells?: string[], faults?: string[] } | undefined>} part what it throws is a
   *   fault, unless it is NotHere
   */
  async add(name, part) {
    const began = performance.now();
    let result;
    let outcome = 'passed';
    try {
      result = (await part()) ?? {};
      if (result.faults?.length > 0) outcome = 'FAILED';
    } catch (error) {
      outcome = error instanceof NotHere ? 'NOT RUN' : 'FAILED';
      result = { faults: [error.message] };
    }
    const { cells = [], faults = [] } = result;
    this._counts[outcome]++;
    const blank = Array(this._rows[0].length - 2).fill('');
    this._rows.push([name, ...blank.map((_, i) => cells[i] ?? ''), outcome]);
    this._progress(`${name}: ${outcome}, ${((performance.now() - began) / 1000).toFixed(1)} s`);
    for (const fault of faults) console.log(`   ${fault.replaceAll('\n', '\n   ')}`);
  }

  /** Prints the table. @returns {boolean} whether none failed, and with CI=true whether all were run */
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

module.exports = { Results };
