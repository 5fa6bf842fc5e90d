'use strict';

// Copies of this checkout, each with a version of `ws` of its own, below .cache/ws-versions/.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { installPackages, run } = require('../../test/support/install');

const ROOT = path.join(__dirname, '../..');
const CACHE = path.join(ROOT, '.cache/ws-versions');
const ADDON = 'build/Release/framemask.node';

/**
 * @param {string} version of `ws`
 * @returns {string} its folder
 */
function fetchWs(version) {
  const folder = path.join(CACHE, `ws-${version}`);
  installPackages(folder, { ws: version });
  return path.join(folder, 'node_modules/ws');
}

/**
 * Links everything in one node_modules into another.
 *
 * @param {string} from
 * @param {string} to
 * @param {string[]} others names that are left out
 */
function linkModules(from, to, others) {
  fs.mkdirSync(to, { recursive: true });
  for (const name of fs.readdirSync(from)) {
    if (others.includes(name) || name.startsWith('.')) continue;
    fs.symlinkSync(path.join(from, name), path.join(to, name), 'junction');
  }
}

/**
 * Copies the checkout's files. Its tests and modules then find that version by `require('ws')`, as
 * they would in a project that has it.
 *
 * @param {string} version of `ws`
 * @returns {string} the copy's folder
 */
function stageCheckout(version) {
  const ws = fetchWs(version);
  const folder = path.join(CACHE, 'checkout');
  fs.rmSync(folder, { recursive: true, force: true });
  const files = run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], ROOT).split('\0');
  for (const file of [...files, ADDON]) {
    const source = path.join(ROOT, file);
    // Git also lists files that have just been deleted.
    if (file !== '' && fs.existsSync(source)) fs.cpSync(source, path.join(folder, file));
  }
  const modules = path.join(folder, 'node_modules');
  linkModules(path.join(ROOT, 'node_modules'), modules, ['ws']);
  // A copy, because a link's target would not find the bufferutil beside it.
  fs.cpSync(ws, path.join(modules, 'ws'), { recursive: true });
  return folder;
}

/**
 * Runs Node.js in a folder.
 *
 * @param {string[]} args
 * @param {{ cwd: string, timeout: number }} options
 * @returns {{ status: number | null, stdout: string, stderr: string }} a status of null stands for
 *   the timeout
 */
function runNode(args, { cwd, timeout }) {
  // Without its runner, tap ends a file of tests after 30 s, which a busy machine may need.
  const env = { ...process.env, TAP_TIMEOUT: `${timeout / 1000}` };
  const options = { cwd, env, timeout, killSignal: 'SIGKILL', encoding: 'utf8', maxBuffer: 2 ** 28 };
  return spawnSync(process.execPath, args, options);
}

module.exports = { CACHE, ROOT, fetchWs, linkModules, runNode, stageCheckout };
