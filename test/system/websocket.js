'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { kernel } = require('../..');
const { ROOT, outputOf } = require('../support/child');
const { installPackages, placeFramemask } = require('../../scripts/support/install');
const { differences } = require('./support/results');

const ECHO = path.join(ROOT, 'test/support/echo.js');

module.exports = {
  summary: 'the package websocket, with framemask in place of bufferutil',
  details: `Echoes messages of 0 to 4 MiB over loopback, and compares every byte and the lengths that framemask masked and
unmasked. test/bufferutil-alias.js does the same with ws.`,
  columns: ['messages', 'masked payloads', 'kernel'],

  async run(_options, { results, progress }) {
    const folder = path.join(ROOT, '.cache/websocket');
    progress('installing websocket');
    installPackages(folder, { websocket: '1.0.35' });
    placeFramemask(folder);
    const alias = path.join(folder, 'node_modules/bufferutil');
    fs.rmSync(alias, { recursive: true, force: true });
    fs.renameSync(path.join(folder, 'node_modules/framemask'), alias);
    await results.add('websocket', async () => {
      const report = JSON.parse(await outputOf([process.execPath, ECHO, 'websocket', folder]));
      const { messages, mask, unmask, due, wrong } = report;
      const faults = differences({ kernel: report.kernel, wrong, mask, unmask }, { kernel, wrong: [], ...due });
      if (mask.length === 0) faults.push('nothing was masked');
      return { cells: [`${messages}`, `${mask.length}`, report.kernel], faults };
    });
  }
};
