'use strict';

// A release, as maintainers and users go through it, on a registry that has framemask only by
// `npm publish`.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { MANAGERS } = require('./managers');
const { Project } = require('./project');
const { pack } = require('./tarball');

/** The npm that publishes. */
const NPM = MANAGERS.find(({ name }) => name === 'npm-12');
/** The servers, each of which talks with each client: framemask/ws, Connection, ws 8 and ws 7. */
const PAIRS = { withFramemask: 16, without: 4 };

/** @returns {(args: string[]) => Promise<string>} runs npm in a project, for its output */
function npmOf(project) {
  const [node, program] = project.commands.install;
  return async (...args) => (await project.run([node, program, ...args])).output;
}

/**
 * Publishes a tarball, and then in vain once more.
 *
 * @param {string} scratch a folder for a project
 * @param {string} registry its address
 */
async function publish(scratch, registry, tarball) {
  const name = path.basename(tarball, '.tgz');
  const project = new Project(path.join(scratch, `publish-${name}`), NPM, NPM.prepare(), {
    registry,
    dependencies: {}
  });
  const token = `//${new URL(registry).host}/:_authToken=token\n`;
  fs.appendFileSync(path.join(project.folder, '.npmrc'), token);
  const npm = npmOf(project);
  await npm('publish', tarball, '--loglevel=error');
  // With --force npm leaves it to the registry.
  const again = npm('publish', tarball, '--loglevel=error', '--force');
  await assert.rejects(again, /E409.*previously published/s, 'published twice');
}

/** @returns {Promise<string>} a tarball of the same files, with the next patch version */
async function packNext(scratch, version) {
  const folder = path.join(scratch, 'next');
  fs.cpSync(path.join(scratch, 'unpacked'), folder, { recursive: true });
  const [, before, patch] = /^(.*\.)(\d+)$/.exec(version);
  const manifest = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  manifest.version = `${before}${Number(patch) + 1}`;
  fs.writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  return pack(scratch, { from: folder });
}

/**
 * Installs framemask beside ws 8 and 7, takes the second version, goes back to the first, and to
 * ws. After each step, servers and clients of all talk.
 *
 * @param {string} first the published version
 * @returns {Promise<{ cells: string[], faults: string[] }>}
 */
async function rehearse(scratch, registry, first) {
  const commands = NPM.prepare();
  const dependencies = { framemask: `^${first}`, ws: '^8.0.0', ws7: 'npm:ws@7.5.10' };
  const project = new Project(path.join(scratch, 'release'), NPM, commands, { registry, dependencies });
  const npm = npmOf(project);
  fs.copyFileSync(path.join(__dirname, 'programs/echoes.cjs'), path.join(project.folder, 'echoes.cjs'));
  const readJson = (name) => JSON.parse(fs.readFileSync(path.join(project.folder, name), 'utf8'));

  async function check(version, step) {
    const { output, errors } = await project.run([...commands.run, './echoes.cjs']);
    const { kernel, ...found } = JSON.parse(output);
    assert.equal(errors, '', step);
    assert.deepEqual({ version: found.version, pairs: found.pairs }, { version, pairs: PAIRS.withFramemask }, step);
    assert.notEqual(kernel, 'js', step);
    assert.equal(readJson('package-lock.json').packages['node_modules/framemask'].version, version, step);
  }

  await npm('install');
  await check(first, 'installed');
  const next = await packNext(scratch, first);
  await publish(scratch, registry, next);
  const second = path.basename(next, '.tgz').replace('framemask-', '');
  await npm('update', 'framemask');
  await check(second, 'updated');
  await npm('install', `framemask@${first}`);
  await check(first, 'gone back');
  await npm('ci');
  await check(first, 'installed by the lock file');
  await npm('uninstall', 'framemask');
  const { output } = await project.run([...commands.run, './echoes.cjs', 'ws']);
  assert.equal(JSON.parse(output).pairs, PAIRS.without, 'without framemask');
  assert.ok(!fs.existsSync(path.join(project.folder, 'node_modules/framemask')), 'uninstalled');
  assert.equal(readJson('package.json').dependencies.framemask, undefined, 'uninstalled');
  return { cells: [commands.version, `${first}, ${second}, ${first}, ws`], faults: project.calledDecoys() };
}

module.exports = { NPM, publish, rehearse };
