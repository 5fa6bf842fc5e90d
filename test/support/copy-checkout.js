'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

/**
 * Copies the files that git tracks or would track, which leaves out build/, and links node_modules.
 *
 * @param {string} root of the checkout
 * @param {string} copy a folder, which is removed first
 */
function copyCheckout(root, copy) {
  fs.rmSync(copy, { recursive: true, force: true });
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
  for (const file of stdout.split('\0')) {
    // git lists deleted files until the deletion is committed, and node_modules if it is a link.
    if (file === '' || file === 'node_modules' || !fs.existsSync(path.join(root, file))) continue;
    fs.cpSync(path.join(root, file), path.join(copy, file));
  }
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'), 'dir');
}

module.exports = { copyCheckout };
