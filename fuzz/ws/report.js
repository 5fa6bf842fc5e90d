'use strict';

// What fuzz/ws.js prints of a finding: the program, and the logs side by side.

const { inspect } = require('node:util');
const { findDifferent } = require('./differences');

const WIDTH = 78;
/** Lines of a log that are printed before its first difference, and behind it. */
const BEFORE = 12;
const BEHIND = 12;

/**
 * @param {string[]} [theirs]
 * @param {string[]} [ours]
 * @returns {string} both around their first difference
 */
function sideBySide(theirs = [], ours = []) {
  let first = 0;
  while (theirs[first] === ours[first]) first++;
  const from = Math.max(0, first - BEFORE);
  const to = Math.min(Math.max(theirs.length, ours.length), first + BEHIND);
  const cut = (line = '') => (line.length > WIDTH ? `${line.slice(0, WIDTH - 3)}...` : line.padEnd(WIDTH));
  const rows = [`  ${cut('ws')} | framemask/ws`];
  if (from > 0) rows.push(`  (${from} lines that are the same)`);
  for (let i = from; i < to; i++) {
    rows.push(`${theirs[i] === ours[i] ? ' ' : '*'} ${cut(theirs[i])} | ${cut(ours[i]).trimEnd()}`);
  }
  return rows.join('\n');
}

/**
 * @param {import('./generator').Program} program
 * @returns {string}
 */
function describeProgram(program) {
  const short = (_key, value) => {
    if (value?.type !== 'Buffer') return value;
    const bytes = Buffer.from(value.data);
    return `${bytes.length} bytes: ${bytes.toString('hex', 0, 300)}`;
  };
  const plain = JSON.parse(JSON.stringify(program, short));
  return inspect(plain, { depth: 12, breakLength: 140, maxStringLength: 700, maxArrayLength: 60, compact: 5 });
}

/**
 * @param {import('./generator').Program} program
 * @param {Record<string, string[]>} theirs
 * @param {Record<string, string[]>} ours
 * @returns {string}
 */
function report(program, theirs, ours) {
  const parts = findDifferent(theirs, ours).map((name) => `${name}\n${sideBySide(theirs[name], ours[name])}`);
  return [describeProgram(program), ...parts].join('\n\n');
}

module.exports = { report };
