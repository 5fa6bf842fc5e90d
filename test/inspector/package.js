'use strict';

// What the inspector's package has besides its code. `npm run test:inspector` packs and installs it.

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');

const ROOT = path.join(__dirname, '../..');
const read = (name) => fs.readFileSync(path.join(ROOT, name), 'utf8');

t.test('its LICENSE is that of framemask, and its package.json says so', async (t) => {
  // npm packs the LICENSE beside a package.json, whatever `files` says, and none from above it.
  t.equal(read('inspector/LICENSE'), read('LICENSE'));
  t.equal(JSON.parse(read('inspector/package.json')).license, JSON.parse(read('package.json')).license);
});
