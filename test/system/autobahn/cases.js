'use strict';

// The cases of Autobahn|Testsuite, the programs that they are run on, and which results count as
// passed.

const path = require('node:path');

/** @returns {string[]} the ids in groups, each with its count of cases */
const listIds = (groups) =>
  groups
    .trim()
    .split(/\s+/)
    .flatMap((part) => {
      const [name, count] = part.split(':');
      return Array.from({ length: Number(count) }, (_, i) => `${name}.${i + 1}`);
    });

/** The 301 cases that need no extension. */
const WITHOUT_DEFLATE = listIds(`
  1.1:8 1.2:8 2:11 3:7 4.1:5 4.2:5 5:20
  6.1:3 6.2:4 6.3:2 6.4:4 6.5:5 6.6:11 6.7:4 6.8:2 6.9:4 6.10:3 6.11:5 6.12:8 6.13:5 6.14:10 6.15:1 6.16:3 6.17:5 6.18:5
  6.19:5 6.20:7 6.21:8 6.22:34 6.23:7
  7.1:6 7.3:6 7.5:1 7.7:13 7.9:9 7.13:2
  9.1:6 9.2:6 9.3:9 9.4:9 9.5:6 9.6:6 9.7:6 9.8:6
  10.1:1`);

/** The 216 cases of permessage-deflate. */
const WITH_DEFLATE = listIds(`
  12.1:18 12.2:18 12.3:18 12.4:18 12.5:18
  13.1:18 13.2:18 13.3:18 13.4:18 13.5:18 13.6:18 13.7:18`);

/**
 * For CI: a case for each rule, some of each group that varies sizes or characters, and none that
 * takes long.
 */
const QUICK = `
  1.1.1 1.1.6 1.1.8 1.2.1 1.2.6 1.2.8
  2.* 3.* 4.1.* 4.2.* 5.*
  6.1.* 6.2.* 6.3.* 6.4.* 6.6.1 6.6.2 6.6.6 6.6.11 6.8.* 6.11.5 6.12.1 6.14.1 6.20.1 6.21.1 6.23.1
  7.*
  9.1.1 9.1.2 9.2.1 9.2.2 9.3.6 9.4.6 9.5.3 9.6.3 9.7.1 9.8.1
  10.*`
  .trim()
  .split(/\s+/);

/**
 * The same for sections 12 and 13, in which a case is a length of messages: each text and each
 * negotiation twice, and two whose messages come in fragments.
 */
const QUICK_DEFLATE = '12.*.1 12.*.5 12.1.11 13.*.2 13.*.4 13.3.11'.split(' ');

/** Cases that report a behaviour which the RFC leaves open; their result is never OK. */
const INFORMATIONAL = new Set(['7.1.6', '7.13.1', '7.13.2']);

/**
 * Cases in which a message comes before a mistake. A gateway closes at the mistake, and the echo of
 * its upstream comes later: NON-STRICT.
 */
const LATE_ECHO = new Set('3.2 3.3 3.4 4.1.3 4.1.4 4.1.5 4.2.3 4.2.4 4.2.5 5.15'.split(' '));

/**
 * @typedef {object} Target
 * @property {string} name as --only takes it
 * @property {string} agent its name in the suite's reports
 * @property {string[]} program the arguments of server.js and client.js
 * @property {object} env of its processes
 * @property {boolean} [reference] it is only there for others to be compared with
 * @property {Set<string>} [nonStrict] the cases that may be NON-STRICT
 */

/** @returns {Target} */
function target(name, program, { env = {}, reference = false, nonStrict } = {}) {
  return { name, agent: `framemask-${name.replace('/', '-')}`, program, env, reference, nonStrict };
}

const WS = path.join(__dirname, '../../../ws.js');

/** @type {{ name: string, targets: Target[], all: string[], quick: string[] }[]} */
const GROUPS = [
  {
    name: 'frames',
    targets: [
      target('addon', ['codec'], { env: { FRAMEMASK_KERNEL: '', FRAMEMASK_REQUIRE_NATIVE: '1' } }),
      target('js', ['codec'], { env: { FRAMEMASK_KERNEL: 'js' } }),
      target('parts', ['parts']),
      target('gateway', ['gateway'], { nonStrict: LATE_ECHO })
    ],
    all: WITHOUT_DEFLATE,
    quick: QUICK
  },
  {
    name: 'deflate',
    targets: ['shared', 'takeover'].flatMap((contexts) => [
      target(contexts, ['deflate', contexts]),
      target(`parts-${contexts}`, ['parts', contexts]),
      target(`gateway-${contexts}`, ['gateway', contexts])
    ]),
    all: WITH_DEFLATE,
    quick: QUICK_DEFLATE
  },
  {
    name: 'ws',
    targets: [
      target('ws', ['ws', 'ws'], { reference: true }),
      target('framemask/ws', ['ws', WS]),
      target('http2', ['http2'])
    ],
    all: [...WITHOUT_DEFLATE, ...WITH_DEFLATE],
    quick: [...QUICK, ...QUICK_DEFLATE]
  }
];

/**
 * @param {{ all: string[] }} group
 * @param {string[]} patterns ids; a `*` in them stands for any characters
 * @returns {string[]} the ids that match, in the suite's order
 */
function chooseCases({ all }, patterns) {
  const toRegExp = (pattern) => new RegExp(`^${pattern.replace(/[^\d*]/g, '\\$&').replaceAll('*', '.*')}$`);
  const expressions = patterns.map(toRegExp);
  return all.filter((id) => expressions.some((expression) => expression.test(id)));
}

/**
 * Judges the results of one agent. wstest itself exits with 0 even if cases fail.
 *
 * @param {object} results from index.json: by case id, with `behavior` and `behaviorClose`
 * @param {string[]} ids exactly the cases that must be there
 * @param {Set<string>} [informational] the cases that may be INFORMATIONAL
 * @param {Set<string>} [nonStrict] the cases that may be NON-STRICT
 * @returns {{ counts: Map<string, number>, failures: string[] }} `counts` of each result
 */
function judge(results, ids, informational = INFORMATIONAL, nonStrict = new Set()) {
  const counts = new Map();
  const extra = Object.keys(results).filter((id) => !ids.includes(id));
  const failures = extra.map((id) => `${id} was not asked for`);
  for (const id of ids) {
    const { behavior = 'MISSING', behaviorClose = 'MISSING' } = results[id] ?? {};
    const isGood = (verdict) =>
      verdict === 'OK' ||
      (verdict === 'INFORMATIONAL' && informational.has(id)) ||
      (verdict === 'NON-STRICT' && nonStrict.has(id));
    counts.set(behavior, (counts.get(behavior) ?? 0) + 1);
    const closing = isGood(behaviorClose) ? '' : `, closing ${behaviorClose}`;
    if (!isGood(behavior) || closing !== '') failures.push(`${id} ${behavior}${closing}`);
  }
  return { counts, failures };
}

/** @returns {Set<string>} the ids of the INFORMATIONAL cases of one agent */
function informationalOf(results) {
  const isSo = ({ behavior, behaviorClose }) => [behavior, behaviorClose].includes('INFORMATIONAL');
  return new Set(Object.keys(results).filter((id) => isSo(results[id])));
}

module.exports = { GROUPS, chooseCases, informationalOf, judge };
