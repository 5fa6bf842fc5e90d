'use strict';

const { existsSync, readdirSync } = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '../..');
const modules = readdirSync(path.join(root, 'lib'), { recursive: true })
  .filter((file) => file.endsWith('.js') && !file.startsWith('platforms'))
  .map((file) => `lib/${file.split(path.sep).join('/')}`);
const covered = ['index.js', 'index.mjs', 'ws.js', 'ws.mjs', ...modules];

/**
 * The tests that cover the package, which others only use: without coverage a process starts
 * sooner, and millions of calls take half of the time.
 */
const COVERING =
  /^(fuzz\/|test\/((codec|connection|deflate|hazards|masking|shared|sockets|streams|ws)\/|frame-id|handshake|http2|loading|tracing))/;
const LONG = /\/(chunk-boundaries|differential|flood|kernels|memory)\.js$/;

/**
 * Some test files alone do not cover all of the package. --show-full-coverage shows what they do.
 */
const [, , ...args] = process.argv;
const namesFiles = args.some((arg) => existsSync(arg)) && !args.includes('--show-full-coverage');

/** The files that tap wants covered to 100 %: the JavaScript of the package, by any test. */
module.exports = (test) => (!namesFiles && COVERING.test(test) && !LONG.test(test) ? covered : null);
