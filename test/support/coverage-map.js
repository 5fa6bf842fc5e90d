'use strict';

const { readdirSync } = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '../..');
const modules = readdirSync(path.join(root, 'lib'), { recursive: true })
  .filter((file) => file.endsWith('.js') && !file.startsWith('platforms'))
  .map((file) => `lib/${file.split(path.sep).join('/')}`);
const covered = ['index.js', 'index.mjs', 'ws.js', 'ws.mjs', ...modules];

/** The files that tap wants covered to 100 %: the JavaScript of the package, by any test. */
module.exports = () => covered;
