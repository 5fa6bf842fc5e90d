'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const ADDON = 'build/Release/framemask.node';

/**
 * Copies the files that git tracks or would track, which leaves out build/, and links node_modules.
 *
 * @param {string} root of the checkout
 * @param {string} copy a folder, which is removed first
 * @param {{ addon?: boolean, without?: string[] }} [options] `addon` copies it, too; each package
 *   but those of `without` is linked alone, and the caller puts others in their place
 */
function copyCheckout(root, copy, { addon = false, without = [] } = {}) {
  fs.rmSync(copy, { recursive: true, force: true });
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
  for (const file of [...stdout.split('\0'), ...(addon ? [ADDON] : [])]) {
    // git lists deleted files until the deletion is committed, and node_modules if it is a link.
    if (file === '' || file === 'node_modules' || !fs.existsSync(path.join(root, file))) continue;
    fs.cpSync(path.join(root, file), path.join(copy, file));
  }
  const [from, to] = [root, copy].map((folder) => path.join(folder, 'node_modules'));
  if (without.length > 0) linkPackages(from, to, without);
  else fs.symlinkSync(from, to, 'dir');
}

/** Links each package of a node_modules in another one, but for some. */
function linkPackages(from, to, without) {
  fs.mkdirSync(to, { recursive: true });
  for (const name of fs.readdirSync(from)) {
    if (without.includes(name) || name.startsWith('.')) continue;
    fs.symlinkSync(path.join(from, name), path.join(to, name), 'junction');
  }
}

module.exports = { copyCheckout, linkPackages };
