'use strict';

// Reads the configurations that the documentation gives for bundlers, so that the test runs what
// users are told to write.

const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '../..');

/** The document that has them. */
const DOCUMENT = ['docs/bundling.md', 'README.md'].find((file) => fs.existsSync(path.join(ROOT, file)));
const TEXT = fs.readFileSync(path.join(ROOT, DOCUMENT), 'utf8');

/**
 * @param {string} file the name of a configuration: its block of code begins with it, as a comment
 * @returns {string} that block
 */
function configOf(file) {
  for (const [, code] of TEXT.matchAll(/^```js\n(.*?)^```$/gms)) {
    if (code.startsWith(`// ${file}\n`)) return code;
  }
  throw new Error(`${DOCUMENT} has no ${file}`);
}

/**
 * @param {string} program
 * @param {RegExp} option
 * @returns {string} the option in a line that begins with the program, without the quotes of the
 *   shell
 */
function optionOf(program, option) {
  const commands = TEXT.replaceAll('\\\n', '').matchAll(/^ {0,4}(\S+) .*$/gm);
  for (const [command, name] of commands) {
    const found = name === program && command.match(option);
    if (found) return found[0].replaceAll('"', '');
  }
  throw new Error(`${DOCUMENT} has no ${program} with ${option}`);
}

module.exports = { DOCUMENT, configOf, optionOf };
