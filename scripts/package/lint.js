'use strict';

// Runs publint and arethetypeswrong on the package.

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { cached, outputOf } = require('../../test/support/fetch');
const { TARGETS } = require('../prebuild/targets');

const TOOLS = ['publint@0.3.25', '@arethetypeswrong/cli@0.18.5'];

/** @returns {string} the folder of their programs @throws {NotHere} if they can't be installed */
function fetchLinters() {
  const folder = cached(TOOLS.join('+'), (unfinished) => {
    const args = ['--prefix', unfinished, '--ignore-scripts', '--no-audit', '--no-fund', '--silent', ...TOOLS];
    outputOf('npm', ['install', ...args], { cwd: unfinished });
  });
  return path.join(folder, 'node_modules/.bin');
}

/** @returns {string | null} the output of a program, null if it matches `clean` */
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
 * @returns {string[]} their findings
 */
function lint(tarball) {
  const programs = fetchLinters();
  // arethetypeswrong skips entries with a *, unless they are named.
  const entries = ['.', 'ws', 'ws/register', ...TARGETS.map(({ name }) => `prebuilds/${name}`)];
  return [
    // publint succeeds even if it has suggestions.
    findings(path.join(programs, 'publint'), ['run', tarball, '--strict'], /^All good!$/m),
    findings(
      path.join(programs, 'attw'),
      [tarball, '--no-definitely-typed', '--no-color', '--no-emoji', '--format', 'ascii', '--entrypoints', ...entries],
      /^\s*No problems found/m
    )
  ].filter((finding) => finding !== null);
}

module.exports = { lint };
