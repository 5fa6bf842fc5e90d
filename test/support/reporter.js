'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { Transform } = require('node:stream');

/** Processes of test files keep the names of their cases here until they exit: case-limit.mjs. */
const CASES = path.resolve('.tap/cases');

/**
 * The reporter of .taprc: a line for each file, and each failure with all that tap says of it.
 * Those of tap draw a screen again and again, also into a file, for a tenth of the CPU time of `npm
 * test`.
 */
class Reporter extends Transform {
  constructor() {
    super();
    fs.rmSync(CASES, { recursive: true, force: true });
    this._rest = '';
    /** The lines of the file that is being read. */
    this._lines = [];
  }

  _transform(chunk, _encoding, done) {
    const lines = (this._rest + chunk).split('\n');
    this._rest = lines.pop();
    for (const line of lines) this._take(line);
    done();
  }

  _flush(done) {
    this._take(this._rest);
    const left = fs.existsSync(CASES) ? fs.readdirSync(CASES) : [];
    for (const file of left) this.push(`not ended: ${fs.readFileSync(path.join(CASES, file))}\n`);
    done();
  }

  _take(line) {
    const result = /^(not )?ok \d+ - (.*)/.exec(line);
    if (result === null) this._lines.push(line);
    else {
      if (result[1] !== undefined) this.push(`\n${failures(this._lines).join('\n')}\n`);
      this.push(`${result[1] === undefined ? '' : 'FAILED '}${result[2]}\n`);
      this._lines = [];
    }
    if (/^(Bail out!|# (\{ |time=|failed))/.test(line)) this.push(`${line}\n`);
  }
}

/** @returns {string[]} results that are not ok, with diagnostics, and the output of others */
function failures(lines) {
  let isShown = false;
  return lines.filter((line) => {
    const [, failed] = /^ *(not )?ok \d/.exec(line) ?? [];
    if (/^ *(not )?ok \d/.test(line)) isShown = failed !== undefined;
    else if (/^ *(# Subtest|\d+\.\.\d+$)/.test(line)) isShown = false;
    return isShown && line.trim() !== '';
  });
}

module.exports = Reporter;
