'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { kernel } = require('../..');
const { installPackages, placeFramemask } = require('../support/install');
const { ROOT, outputOf } = require('./support/child');

const ECHO = path.join(ROOT, 'test/support/echo.js');

module.exports = {
  summary: 'the package websocket, with framemask in place of bufferutil',
  details: `Echoes messages of 0 to 4 MiB over loopback, and compares every byte and the lengths that framemask masked and
unmasked. test/bufferutil-alias.js does the same with ws.`,

  async run(_options, { progress }) {
    const folder = path.join(ROOT, '.cache/websocket');
    progress('installing websocket');
    installPackages(folder, { websocket: '1.0.35' });
    placeFramemask(folder);
    const alias = path.join(folder, 'node_modules/bufferutil');
    fs.rmSync(alias, { recursive: true, force: true });
    fs.renameSync(path.join(folder, 'node_modules/framemask'), alias);
    const report = JSON.parse(await outputOf([process.execPath, ECHO, 'websocket', folder]));
    progress(`${report.messages} messages, ${report.mask.length} payloads masked by the kernel ${report.kernel}`);
    const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
    return (
      report.kernel === kernel &&
      report.wrong.length === 0 &&
      report.mask.length > 0 &&
      isSame(report.mask, report.due.mask) &&
      isSame(report.unmask, report.due.unmask)
    );
  }
};
