'use strict';

// The inspector as it is published: packed, installed beside a packed framemask, started.

const assert = require('node:assert/strict');
const { execFile, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const { promisify } = require('node:util');
const { Screen } = require('./session');

const ROOT = path.join(__dirname, '../..');
/** framemask's only dependency comes from node_modules, so that nothing is downloaded. */
const PACKED = ['inspector', '.', 'node_modules/node-gyp-build'].map((folder) => path.join(ROOT, folder));

/** A program that depends on framemask. */
const APP = `
  const { Encoder } = require('framemask');
  const encoder = new Encoder({ role: 'client' });
  encoder.text('Hello');
  encoder.close(1000);
  encoder.take();
`;

/** An environment without what npm run says of this checkout. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));

/** @returns {Promise<string>} what a program prints */
async function run(cwd, program, ...args) {
  const { stdout } = await promisify(execFile)(program, args, { cwd, env });
  return stdout;
}

/** Packs the inspector and framemask, without prebuilds, and installs them in an empty project. */
async function install(folder) {
  await run(folder, 'npm', 'pack', '--silent', '--ignore-scripts', ...PACKED);
  const tarballs = fs.readdirSync(folder).map((name) => path.join(folder, name));
  assert.equal(tarballs.length, PACKED.length);
  const project = path.join(folder, 'project');
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, 'package.json'), '{ "private": true }');
  fs.writeFileSync(path.join(project, 'app.js'), APP);
  await run(project, 'npm', 'install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', ...tarballs);
  return project;
}

/** The page of an installed inspector, and the command that it prints. */
async function usePage(browser, url, command, project) {
  const context = await browser.newContext();
  try {
    const screen = new Screen(await context.newPage(), url);
    await screen.open();
    assert.equal(await run(project, 'sh', '-c', command), '');
    await screen.waitForFrames('live: 2 frames');
    await screen.paste('81 85 37fa213d 7f9f4d5158');
    await screen.waitForFrames('1 frames');
    await screen.select(0);
    assert.match(await screen.detail(), /Hello/);
    screen.check();
  } finally {
    await context.close();
  }
}

async function packed(browser) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-inspector-'));
  let child;
  try {
    const project = await install(folder);
    const installed = path.join(project, 'node_modules/framemask-inspector');
    assert.deepEqual(fs.readdirSync(installed).sort(), [
      'LICENSE',
      'README.md',
      'cli.js',
      'lib',
      'live.js',
      'package.json',
      'page'
    ]);
    assert.match(
      await run(project, 'npx', '--offline', 'framemask-inspector', '--help'),
      /^usage: framemask-inspector/
    );
    child = spawn(path.join(project, 'node_modules/.bin/framemask-inspector'), ['--port', '0'], { cwd: project, env });
    child.stderr.pipe(process.stderr);
    const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const [page, live] = [(await lines.next()).value, (await lines.next()).value];
    assert.ok(live.includes(`'${path.join(installed, 'live.js')}'`), live);
    await usePage(browser, page.replace('The page: ', ''), live.replace(/^.*?: /, ''), project);
  } finally {
    if (child !== undefined && child.exitCode === null && child.kill()) await once(child, 'exit');
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

module.exports = [{ name: 'packed', run: packed }];
