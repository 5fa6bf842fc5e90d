'use strict';

// `node benchmark/deflate.js FILE` measures the messages of a file.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { parseMessages } = require('../support/messages');

test('messages are lines, or the values of a JSON array', () => {
  const parse = (text) => parseMessages(text).map(String);
  assert.deepEqual(parse('{"a":1}\r\n\n[2]\n[3]\n'), ['{"a":1}', '[2]', '[3]']);
  assert.deepEqual(parse('["é", {"a": 1}, "", 2]\n'), ['é', '{"a":1}', '2']);
  assert.deepEqual(parse('{"a":1}'), ['{"a":1}']);
  assert.throws(() => parse('\n'), RangeError);
});

test('the messages of a file are measured, and those below the threshold counted', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-deflate-'));
  try {
    const file = path.join(folder, 'own.txt');
    fs.writeFileSync(file, `${'short '.repeat(100)}\n${'long '.repeat(1000)}\n`);
    const args = [path.join(__dirname, '../deflate.js'), file, '--quick', '--rounds', '1'];
    const printed = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    for (const work of ['compress', 'inflate'])
      for (const takeover of ['takeover', 'no takeover']) assert.ok(printed.includes(`${work} own.txt, ${takeover} `));
    assert.match(printed, /2 messages of 600 to 5000 bytes.* 1 of them go out uncompressed by default/);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
