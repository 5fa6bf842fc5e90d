'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { CACHE } = require('../../test/support/fetch');

const ROOT = path.join(__dirname, '../..');

/**
 * Lays out an installed framemask without a build of its own, and the test beside it.
 *
 * @param {string} prebuilds the folder of the files to test
 * @param {string} [folder] the target
 * @returns {string} the target: it has `smoke.cjs`, which every runtime takes for CommonJS, and
 *   `node_modules/framemask`
 */
function stage(prebuilds, folder = path.join(CACHE, 'app')) {
  fs.rmSync(folder, { recursive: true, force: true });
  const root = path.join(folder, 'node_modules/framemask');
  fs.mkdirSync(root, { recursive: true });
  fs.copyFileSync(path.join(ROOT, 'package.json'), path.join(root, 'package.json'));
  fs.cpSync(path.join(ROOT, 'lib'), path.join(root, 'lib'), { recursive: true });
  fs.cpSync(prebuilds, path.join(root, 'prebuilds'), { recursive: true });
  const loader = path.dirname(require.resolve('node-gyp-build/package.json'));
  fs.cpSync(loader, path.join(root, 'node_modules/node-gyp-build'), { recursive: true });
  fs.copyFileSync(path.join(ROOT, 'test/platform/smoke.js'), path.join(folder, 'smoke.cjs'));
  return folder;
}

module.exports = { ROOT, stage };
