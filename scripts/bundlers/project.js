'use strict';

// Installs the bundlers, lays out a project like a user's, and runs bundles.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const { createRequire } = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { TARGETS } = require('../prebuild/targets');
const { installPackages, run } = require('../../test/support/install');

const ROOT = path.join(__dirname, '../..');
const CACHE = path.join(ROOT, '.cache/bundlers');
const APPS = path.join(__dirname, 'apps');
const TIMEOUT = 60_000;

/** The name of this platform's entry. */
const PLATFORM = TARGETS.map(({ name }) => name).find(
  (name) => name.split('-', 2).join('-') === `${process.platform}-${process.arch}`
);

/**
 * Installs the bundlers below .cache/, unless they are there.
 *
 * @param {Record<string, string>} packages with their versions
 * @returns {NodeJS.Require} loads them
 */
function installBundlers(packages) {
  installPackages(CACHE, packages);
  return createRequire(path.join(CACHE, 'package.json'));
}

/**
 * Copies a program twice: unchanged, and with this platform's entry before everything else, as
 * documented.
 */
function writeApp(name, folder) {
  const source = fs.readFileSync(path.join(APPS, name), 'utf8');
  fs.writeFileSync(path.join(folder, name), source);
  const entry = `${name.startsWith('ws-') ? 'bufferutil' : 'framemask'}/prebuilds/${PLATFORM}`;
  const line = name.endsWith('.mjs') ? `import '${entry}';` : `require('${entry}');`;
  fs.writeFileSync(path.join(folder, `native-${name}`), `${line}\n${source}`);
}

/**
 * Lays out a project with ws, and with framemask under both names, from the tarball that would be
 * published.
 *
 * @param {string} folder outside the checkout, so that its node_modules are not found
 */
function stageProject(folder) {
  run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], ROOT);
  const [tarball] = fs.readdirSync(folder);
  const modules = path.join(folder, 'node_modules');
  for (const name of ['framemask', 'bufferutil']) {
    fs.mkdirSync(path.join(modules, name), { recursive: true });
    run('tar', ['xzf', tarball, '--strip-components=1', '-C', path.join(modules, name)], folder);
  }
  for (const name of ['node-gyp-build', 'ws']) {
    const source = path.dirname(require.resolve(`${name}/package.json`));
    fs.cpSync(source, path.join(modules, name), { recursive: true });
  }
  // The documented configurations import these.
  fs.mkdirSync(path.join(modules, '@rollup'));
  for (const name of ['@rollup/plugin-node-resolve', '@rollup/plugin-commonjs', '@rollup/plugin-json']) {
    const source = path.join(CACHE, 'node_modules', name);
    if (fs.existsSync(source)) fs.symlinkSync(source, path.join(modules, name), 'junction');
  }
  fs.writeFileSync(path.join(folder, 'package.json'), '{ "private": true }');
  for (const name of fs.readdirSync(APPS)) writeApp(name, folder);
}

/**
 * @returns {string} an empty folder that has no node_modules above it, nor framemask in its path
 */
function makeFolder() {
  return fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'bundle-'));
}

/**
 * @param {string} file a bundle
 * @param {Record<string, string>} env
 * @returns {string} the kernel that it ran with
 * @throws {Error} if a check in it failed
 */
function runBundle(file, env = {}) {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('FRAMEMASK_'));
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: path.dirname(file),
    env: { ...Object.fromEntries(others), ...env },
    encoding: 'utf8',
    timeout: TIMEOUT
  });
  if (status !== 0) {
    const lines = stderr.split('\n').filter((line) => /^\w*Error\b/.test(line));
    throw new Error(`exit code ${status}, signal ${signal}: ${lines.join(' ') || stderr.slice(-400)}`);
  }
  const { kernel, nativeError } = JSON.parse(stdout);
  // There is a reason if, and only if, JavaScript does the masking.
  if ((kernel === 'js') !== (nativeError !== null)) throw new Error(`kernel ${kernel}, nativeError: ${nativeError}`);
  return kernel;
}

module.exports = { PLATFORM, ROOT, installBundlers, makeFolder, runBundle, stageProject };
