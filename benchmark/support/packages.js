'use strict';

// Loaded before anything else of a benchmark: its packages are no dependencies of the checkout.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const FOLDER = path.join(__dirname, '..');
const { dependencies } = require('../package.json');

const isMissing = (name) => !fs.existsSync(path.join(FOLDER, 'node_modules', name));

if (Object.keys(dependencies).some(isMissing)) {
  console.error('installing the packages of benchmark/, once');
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  const { status } = spawnSync('npm', args, {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32'
  });
  if (status !== 0) {
    console.error('npm install failed in benchmark/');
    process.exit(1);
  }
}
