'use strict';

// ws with framemask in place of bufferutil, as `npm install bufferutil@npm:framemask` installs it:
// the package that npm pack makes of this checkout, in node_modules/bufferutil. The same with the
// package websocket: test/system/websocket.js.

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { promisify } = require('node:util');
const t = require('tap');
const framemask = require('..');
const { LONG } = require('./support/sample');

const run = promisify(execFile);
const ROOT = path.join(__dirname, '..');
const ECHO = path.join(__dirname, 'support/echo.js');

/** Runs npm: the one that runs this test, if npm does. */
function npm(...args) {
  const { npm_execpath: program = '' } = process.env;
  if (path.basename(program) === 'npm-cli.js') return run(process.execPath, [program, ...args], { cwd: ROOT });
  return run('npm', args, { cwd: ROOT, shell: process.platform === 'win32' });
}

/**
 * Unpacks the package into node_modules/bufferutil, with the addon if there is one. Its dependency
 * is found in the checkout around the folder.
 */
async function installAlias(folder) {
  const place = path.join(folder, 'node_modules/bufferutil');
  const { stdout } = await npm('pack', '--json', '--ignore-scripts', '--pack-destination', folder);
  // npm 11 prints an array, npm 12 an object by package name.
  const [{ filename }] = Object.values(JSON.parse(stdout));
  await run('tar', ['-xzf', filename], { cwd: folder });
  fs.mkdirSync(path.join(folder, 'node_modules'));
  fs.renameSync(path.join(folder, 'package'), place);
  // A release has prebuilds/, a checkout has build/.
  const build = path.join(ROOT, 'build');
  if (fs.existsSync(build)) fs.symlinkSync(build, path.join(place, 'build'), 'junction');
}

/** Copies a package, so that it looks for bufferutil in the new folder. */
function installCopy(folder, name) {
  const source = path.dirname(require.resolve(`${name}/package.json`));
  fs.cpSync(source, path.join(folder, 'node_modules', name), { recursive: true, dereference: true });
}

async function echo(folder, env) {
  const { stdout } = await run(process.execPath, [ECHO, 'ws', folder], {
    env: { ...process.env, ...env },
    maxBuffer: 2 ** 26
  });
  return JSON.parse(stdout);
}

t.test('framemask as bufferutil', LONG, async (t) => {
  const folder = fs.realpathSync(t.testdir());
  await installAlias(folder);
  installCopy(folder, 'ws');

  t.test('the version satisfies what ws requires of bufferutil', async (t) => {
    const { name, version } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
    const { peerDependencies } = JSON.parse(fs.readFileSync(path.join(folder, 'node_modules/ws/package.json'), 'utf8'));
    t.equal(name, 'framemask');
    t.equal(peerDependencies.bufferutil, '^4.0.1', 'the range of ws');
    t.match(version, /^4\.([1-9]\d*\.\d+|0\.[1-9]\d*)$/, 'a version in it');
  });

  t.test('masks and unmasks', async (t) => {
    const report = await echo(folder, {});
    t.equal(report.kernel, framemask.kernel, 'the kernel');
    t.same(report.wrong, [], `messages that changed, of ${report.messages}`);
    // From Node.js 26.12 on, node:http may have websocketMask and websocketUnmask, which ws calls
    // instead.
    t.equal(report.due.mask.length === 0, http.websocketMask !== undefined, 'whether payloads are due');
    t.same(report.mask, report.due.mask, `${report.mask.length} payloads masked by framemask`);
    t.same(report.unmask, report.due.unmask, `${report.unmask.length} payloads unmasked by framemask`);
  });

  t.test('WS_NO_BUFFER_UTIL=1 turns framemask off', async (t) => {
    const report = await echo(folder, { WS_NO_BUFFER_UTIL: '1' });
    t.same(report.wrong, [], `messages that changed, of ${report.messages}`);
    t.same([report.mask, report.unmask], [[], []], 'calls of framemask');
    t.equal(report.due.mask.length > 0, http.websocketMask === undefined, 'whether payloads were due');
  });
});
