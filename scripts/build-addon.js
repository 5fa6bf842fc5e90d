'use strict';

// Builds the addon of a checkout with node-gyp. `npm install` runs it as `postprepare`, and then a machine that can't
// build is no failure: framemask runs on JavaScript there, and one line says so. The name is not `prepare`, since npm warns
// whoever installs a tarball whose package has such a script, and runs it before each pack.

const path = require('node:path');
const { parseArgs } = require('node:util');
const { rebuild } = require('./node-gyp');

const USAGE = `usage: node scripts/build-addon.js [--optional] [--help]

Builds build/Release/framemask.node with node-gyp.

  --optional  print one line, not the compiler's output, and succeed even where nothing can be built
  --help      print this`;

/**
 * @param {string} output all that node-gyp printed
 * @returns {string} the line that tells most
 */
function reason(output) {
  const lines = output.split('\n');
  const compiler = lines.find((line) => /error:|not found|No such file or directory/.test(line));
  const gyp = lines.find((line) => /^gyp ERR! stack Error: /.test(line));
  return (compiler || gyp || 'node-gyp failed').replace(/^gyp ERR! stack Error: /, '').trim();
}

/** @returns {number} the exit code */
function main() {
  const { values } = parseArgs({ options: { optional: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const root = path.join(__dirname, '..');
  const { status, stdout, stderr, error } = rebuild(root, values.optional ? 'pipe' : 'inherit');
  if (!values.optional) return status ?? 1;
  if (status === 0) console.log('framemask: the addon is built');
  else {
    const why = error ? error.message : reason(stderr + stdout);
    console.log(`framemask: no addon, JavaScript does the masking (${why}); "npm run compile" shows the whole of it`);
  }
  return 0;
}

process.exitCode = main();
