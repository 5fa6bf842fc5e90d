'use strict';

// Takes what README tells users to write, so that it is that which is tested.

const fs = require('node:fs');
const path = require('node:path');

const README = fs.readFileSync(path.join(__dirname, '../../README.md'), 'utf8');

/**
 * @param {string} file whose name is the first line of a block of code
 * @returns {string} that block
 */
function configOf(file) {
  for (const [, code] of README.matchAll(/^```js\n(.*?)^```$/gms)) {
    if (code.startsWith(`// ${file}\n`)) return code;
  }
  throw new Error(`README has no ${file}`);
}

/**
 * @param {string} program
 * @param {RegExp} option
 * @returns {string} the option in the command line that README gives for that program, without the quotes of the shell
 */
function optionOf(program, option) {
  const commands = README.replaceAll('\\\n', '').matchAll(/^ {4}(\S+) .*$/gm);
  for (const [command, name] of commands) {
    const found = name === program && command.match(option);
    if (found) return found[0].replaceAll('"', '');
  }
  throw new Error(`README has no ${program} with ${option}`);
}

module.exports = { configOf, optionOf };
