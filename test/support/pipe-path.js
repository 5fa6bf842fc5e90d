'use strict';

const { randomUUID } = require('node:crypto');
const { mkdtempSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/** @returns {string} a path at which a server can listen, removed at the end of the test */
function pipePath(t) {
  if (process.platform === 'win32') return `\\\\?\\pipe\\framemask-${randomUUID()}`;
  // Not t.testdir(): the path of a socket has at most 107 bytes.
  const folder = mkdtempSync(path.join(os.tmpdir(), 'framemask-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return path.join(folder, 'socket');
}

module.exports = { pipePath };
