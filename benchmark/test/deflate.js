'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');

test('deflate.js FILE measures its lines, and counts those below the threshold', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-deflate-'));
  const file = path.join(folder, 'own.txt');
  const run = (text) => {
    fs.writeFileSync(file, text);
    const args = [path.join(__dirname, '../deflate.js'), file, '--quick', '--rounds', '1'];
    return spawnSync(process.execPath, args, { encoding: 'utf8' });
  };
  try {
    const { stdout } = run(`${'short '.repeat(100)}\r\n\n${'long '.repeat(1000)}\n`);
    for (const work of ['compress', 'inflate'])
      for (const takeover of ['takeover', 'no takeover']) assert.ok(stdout.includes(`${work} own.txt, ${takeover} `));
    assert.match(stdout, /2 messages of 600 to 5000 bytes.* the 1 of less than 1024 bytes/);
    assert.match(run('\n').stderr, /the file has no messages/);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
