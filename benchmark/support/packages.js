'use strict';

// Loaded before anything else of a benchmark: its packages are no dependencies of the checkout.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const cwd = path.join(__dirname, '..');
const { dependencies } = require('../package.json');

if (Object.keys(dependencies).some((name) => !fs.existsSync(path.join(cwd, 'node_modules', name)))) {
  console.error('installing the packages of benchmark/, once');
  const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  const shell = process.platform === 'win32';
  const { status } = spawnSync('npm', args, { cwd, shell, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error('npm install failed in benchmark/');
}
