'use strict';

// What publint and arethetypeswrong have to say of the package.

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { cached, outputOf } = require('../platforms/fetch');
const { TARGETS } = require('../prebuild/targets');

const TOOLS = ['publint@0.3.25', '@arethetypeswrong/cli@0.18.5'];

/** @returns {string} the folder of their programs @throws {Error} if they can't be got */
function fetchLinters() {
  const folder = cached(TOOLS.join('+'), (unfinished) => {
    const args = ['--prefix', unfinished, '--ignore-scripts', '--no-audit', '--no-fund', '--silent', ...TOOLS];
    outputOf('npm', ['install', ...args], { cwd: unfinished });
  });
  return path.join(folder, 'node_modules/.bin');
}

/** @returns {string | null} what the program has found */
function findings(program, args, clean) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' }
  });
  if (status === 0 && clean.test(stdout)) return null;
  return `${path.basename(program)}: ${error ? error.message : `${stdout}${stderr}`.trim()}`;
}

/**
 * @param {string} tarball
 * @returns {string[]} what they have found
 */
function lint(tarball) {
  const programs = fetchLinters();
  // It leaves out entries that have a *, unless they are named.
  const entries = ['.', ...TARGETS.map(({ name }) => `prebuilds/${name}`)];
  return [
    // It succeeds in spite of suggestions.
    findings(path.join(programs, 'publint'), ['run', tarball, '--strict'], /^All good!$/m),
    findings(
      path.join(programs, 'attw'),
      [tarball, '--no-definitely-typed', '--no-color', '--no-emoji', '--format', 'ascii', '--entrypoints', ...entries],
      /^\s*No problems found/m
    )
  ].filter((finding) => finding !== null);
}

module.exports = { lint };
