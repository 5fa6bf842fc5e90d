'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { installPackages } = require('../../../scripts/support/install');
const { ROOT, faultsOf } = require('../../support/child');

/** The majors of Node.js that are supported, each with the newest of its types. */
const MAJORS = [20, 22, 24, 26];

/**
 * Compiles test/types and the example in TypeScript with the types of a major of Node.js.
 *
 * @param {string} scratch an existing folder
 * @param {string} unpacked the files of the tarball
 * @returns {Promise<string[]>} the faults
 */
async function checkTypes(scratch, unpacked, major) {
  const folder = path.join(scratch, `types-${major}`);
  const from = (name) => require(path.join(ROOT, 'node_modules', name, 'package.json')).version;
  installPackages(folder, {
    '@types/node': String(major),
    '@types/ws': from('@types/ws'),
    typescript: from('typescript'),
    ws: from('ws')
  });
  fs.cpSync(unpacked, path.join(folder, 'node_modules/framemask'), { recursive: true });
  const programs = path.join(folder, 'programs');
  fs.mkdirSync(programs);
  for (const name of ['test/types', 'examples']) {
    const files = fs.readdirSync(path.join(ROOT, name)).filter((file) => /\.m?ts$/.test(file));
    for (const file of files) fs.copyFileSync(path.join(ROOT, name, file), path.join(programs, file));
  }
  fs.copyFileSync(path.join(ROOT, 'test/types/tsconfig.json'), path.join(programs, 'tsconfig.json'));
  const compiler = path.join(folder, 'node_modules/typescript/bin/tsc');
  return faultsOf([process.execPath, compiler, '--project', programs, '--skipLibCheck']);
}

module.exports = { MAJORS, checkTypes };
