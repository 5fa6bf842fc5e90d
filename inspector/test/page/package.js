'use strict';

// The inspector as it is published: packed, installed beside a packed framemask, started.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const { test } = require('node:test');
const { run } = require('../../../scripts/support/install');
const { openScreen } = require('../support/screen');

const ROOT = path.join(__dirname, '../../..');
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

/** Packs the inspector and framemask, without prebuilds, and installs them in an empty project. */
function install(folder) {
  run('npm', ['pack', '--silent', '--ignore-scripts', ...PACKED], folder);
  const tarballs = fs.readdirSync(folder).map((name) => path.join(folder, name));
  assert.equal(tarballs.length, PACKED.length);
  const project = path.join(folder, 'project');
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, 'package.json'), '{ "private": true }');
  fs.writeFileSync(path.join(project, 'app.js'), APP);
  run('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', ...tarballs], project);
  return project;
}

test('packed, installed in an empty project, and used', async (t) => {
  // npm would install for this checkout.
  for (const name of Object.keys(process.env)) if (/^npm_/i.test(name)) delete process.env[name];
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-inspector-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const project = install(folder);
  const installed = path.join(project, 'node_modules/framemask-inspector');
  const files = ['GUIDE.md', 'LICENSE', 'README.md', 'cli.js', 'lib', 'live.js', 'package.json', 'page'];
  assert.deepEqual(fs.readdirSync(installed).sort(), files);
  const read = (place) => fs.readFileSync(path.join(place, 'LICENSE'), 'utf8');
  assert.equal(read(installed), read(ROOT));
  assert.match(run('npx', ['--offline', 'framemask-inspector', '--help'], project), /^usage: framemask-inspector/);
  const program = path.join(project, 'node_modules/.bin/framemask-inspector');
  const child = spawn(program, ['--port', '0'], { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const [page, live] = [(await lines.next()).value, (await lines.next()).value];
    assert.ok(live.includes(`'${path.join(installed, 'live.js')}'`), live);
    const use = async (screen) => {
      assert.equal(run('sh', ['-c', live.replace(/^.*?: /, '')], project), '');
      await screen.waitForFrames('live: 2 frames');
      await screen.paste('81 85 37fa213d 7f9f4d5158');
      await screen.waitForFrames('1 frame');
      await screen.select(0);
      assert.match(await screen.detail(), /Hello/);
    };
    await openScreen(page.replace('The page: ', ''), use, { name: 'packed' });
  } finally {
    if (child.exitCode === null && child.kill()) await once(child, 'exit');
  }
});
