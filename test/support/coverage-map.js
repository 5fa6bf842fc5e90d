'use strict';

const { existsSync, readdirSync } = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '../..');
const modules = readdirSync(path.join(root, 'lib'), { recursive: true })
  .filter((file) => file.endsWith('.js') && !file.startsWith('platforms'))
  .map((file) => `lib/${file.split(path.sep).join('/')}`);
const covered = ['index.js', 'index.mjs', 'ws.js', 'ws.mjs', ...modules];

/** Millions of calls take up to twice as long with coverage. Other tests cover the same code. */
const WITHOUT_COVERAGE = /^test\/(attacks\/|masking\/kernels|codec\/(decoder\/chunk-boundaries|differential))/;

/** Some test files alone do not cover all of the package. --show-full-coverage shows what they do. */
const [, , ...args] = process.argv;
const namesFiles = args.some((arg) => existsSync(arg)) && !args.includes('--show-full-coverage');

/** The files that tap wants covered to 100 %: the JavaScript of the package, by any test. */
module.exports = (test) => (namesFiles || WITHOUT_COVERAGE.test(test) ? null : covered);
