'use strict';

// What tcpdump captures on loopback.

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');

/** Whether a program is installed. */
const has = (program) => spawnSync(program, ['--version']).error === undefined;

/** @returns {string | null} why nothing can be captured here; null if it can */
function whyNot() {
  if (!has('tcpdump')) return 'tcpdump is not installed';
  return process.getuid?.() === 0 ? null : 'tcpdump needs root';
}

/**
 * @param {number} port
 * @param {() => Promise<unknown>} work what happens on that port
 * @returns {Promise<Buffer>} the capture
 */
async function captureWhile(port, work) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-capture-'));
  const file = path.join(folder, 'real.pcap');
  const options = ['-i', 'lo', '-U', '-B', '8192', '-w', file, 'tcp', 'port', String(port)];
  const tcpdump = spawn('tcpdump', options, { stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    let said = '';
    await new Promise((resolve, reject) => {
      tcpdump.once('exit', () => reject(new Error(`tcpdump cannot capture: ${said.trim()}`)));
      tcpdump.stderr.on('data', (chunk) => {
        said += chunk;
        if (/listening on/.test(said)) resolve();
      });
    });
    await delay(500);
    await work();
    await delay(1000);
    tcpdump.kill('SIGINT');
    await once(tcpdump, 'exit');
    return fs.readFileSync(file);
  } finally {
    tcpdump.kill('SIGKILL');
    fs.rmSync(folder, { recursive: true });
  }
}

module.exports = { captureWhile, has, whyNot };
