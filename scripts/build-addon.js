'use strict';

// Builds build/Release/framemask.node with node-gyp. `npm install` runs it as `postprepare` with
// --optional: a machine that can't build runs framemask in JavaScript, and one line says so. The
// npm script is not called `prepare`, because npm warns whoever installs a tarball whose package
// has such a script, and runs it before each pack.

const path = require('node:path');
const { parseArgs } = require('node:util');
const { rebuild } = require('./support/node-gyp');

const USAGE = `usage: npm run build [-- [--optional] [--help]]

Builds build/Release/framemask.node with node-gyp.

  --optional  print one line instead of the compiler's output, and succeed even if nothing can be built
  --help      print this`;

const ROOT = path.join(__dirname, '..');

/**
 * @param {string} output of node-gyp
 * @returns {string} the line that says most about a failure
 */
function reasonIn(output) {
  const lines = output.split('\n');
  const compiler = lines.find((line) => /error:|not found|No such file or directory/.test(line));
  const gyp = lines.find((line) => /^gyp ERR! stack Error: /.test(line));
  return (compiler || gyp || 'node-gyp failed').replace(/^gyp ERR! stack Error: /, '').trim();
}

/** @returns {string | null} why the addon could not be built */
function tryBuild() {
  try {
    const { status, stdout, stderr, error } = rebuild(ROOT, { stdio: 'pipe' });
    return status === 0 ? null : (error?.message ?? reasonIn(stderr + stdout));
  } catch (error) {
    return error.message.split('\n')[0];
  }
}

const { help, optional } = parseArgs({ options: { optional: { type: 'boolean' }, help: { type: 'boolean' } } }).values;
if (help) {
  console.log(USAGE);
} else if (optional) {
  const reason = tryBuild();
  if (reason === null) console.log('framemask: the addon is built');
  else console.log(`framemask: no addon, so JavaScript does the masking (${reason}); "npm run build" shows all output`);
} else {
  process.exitCode = rebuild(ROOT, { stdio: 'inherit' }).status ?? 1;
}
