'use strict';

// What a report says in few words: for each kind of work a range of how many times faster framemask
// is. The summary of `npm run bench` and the table of README.md are made of it.

const { formatNumber, formatSize } = require('./table');

/**
 * @typedef {object} Range
 * @property {string} work
 * @property {string} peer
 * @property {{ name: string, times: number }} weakest
 * @property {{ name: string, times: number }} strongest
 * @property {string} [more] such as `60 GB/s at 16 KiB`
 */

/** Who is compared with whom, by benchmark: `framemask` with ws, unless it stands here. */
const PAIRS = {
  masking: [['framemask', 'bufferutil']],
  echo: ['ws', 'Bun', 'Deno'].map((peer) => ['framemask', peer]),
  ws: [['framemask/ws', 'ws']],
  'frame-id': [
    ['frameId()', 'crypto.randomUUID()'],
    ['formatFrameId', 'uuid stringify'],
    ['parseFrameId', 'uuid parse']
  ],
  tracing: []
};

/** The work of a group, by benchmark. */
const TITLES = {
  masking: { unmask: '`unmask` in place', mask: '`mask` into another buffer' },
  decode: (group) => `decode ${group}`,
  encode: (group) => `encode ${group}`,
  ws: (group) => `\`framemask/ws\`: ${group}`,
  deflate: (group) => `permessage-deflate, ${group}`
};

/** @param {string} benchmark @param {string} group @returns {string} */
function titleOf(benchmark, group) {
  const title = TITLES[benchmark];
  return (typeof title === 'function' ? title(group) : title?.[group]) ?? group;
}

/**
 * @param {import('./report').Row[]} rows
 * @param {string} own
 * @param {string} peer
 * @returns {{ name: string, times: number }[]} medians, the weakest first
 */
function sortTimes(rows, own, peer) {
  return rows
    .flatMap(({ name, timesFaster }) =>
      timesFaster
        .filter((pair) => pair.own === own && pair.peer === peer)
        .map(({ times }) => ({ name, times: times[1] }))
    )
    .sort((a, b) => a.times - b.times);
}

/** @param {import('./report').Row[]} rows with `bytes` @returns {string} the best throughput of framemask */
function bestSpeed(rows) {
  const speeds = rows.map(({ bytes, candidates }) => ({ bytes, speed: bytes / candidates.framemask.ns[1] }));
  const { bytes, speed } = speeds.reduce((best, next) => (next.speed > best.speed ? next : best));
  return `${formatNumber(speed)} GB/s at ${formatSize(bytes)}`;
}

/** @param {import('./report').Report} report @returns {Range[]} */
function findRanges({ benchmark, rows }) {
  const pairs = PAIRS[benchmark] ?? [['framemask', 'ws']];
  const groups = [...new Set(rows.map(({ group }) => group))];
  return groups.flatMap((group) => {
    const members = rows.filter((row) => row.group === group);
    return pairs.flatMap(([own, peer]) => {
      const times = sortTimes(members, own, peer);
      if (times.length === 0) return [];
      const range = { work: titleOf(benchmark, group), peer, weakest: times[0], strongest: times.at(-1) };
      return [benchmark === 'masking' ? { ...range, more: bestSpeed(members) } : range];
    });
  });
}

/**
 * What framemask is like without its addon.
 *
 * @param {import('./report').Report[]} reports
 * @returns {{ work: string, peer: string, times: number }[]} the weakest row of each kind of work
 */
function findWeakestWithoutAddon(reports) {
  return reports.flatMap(({ benchmark, rows }) => {
    const peer = benchmark === 'masking' ? 'bufferutil js' : 'ws';
    const groups = [...new Set(rows.map(({ group }) => group))];
    return groups.flatMap((group) => {
      const [weakest] = sortTimes(
        rows.filter((row) => row.group === group),
        'framemask js',
        peer
      );
      const name = weakest?.name.startsWith(group) ? weakest.name : `${benchmark} ${weakest?.name}`;
      return weakest === undefined ? [] : [{ work: name, peer, times: weakest.times }];
    });
  });
}

/** @param {number} times @returns {string} such as `0.96`, `5.9` or `28` */
function formatTimes(times) {
  return times < 0.995 ? times.toFixed(2) : times < 9.95 ? times.toFixed(1) : String(Math.round(times));
}

/** @param {Range} range @returns {string} such as `1.0 to 5.9` */
function formatRange({ weakest, strongest }) {
  const [low, high] = [weakest, strongest].map(({ times }) => formatTimes(times));
  return low === high ? low : `${low} to ${high}`;
}

/** @param {import('./report').Report} report @returns {string[]} the lines of a summary */
function summarize(report) {
  const lines = findRanges(report).map((range) => {
    const { work, peer, more } = range;
    return `${work.replaceAll('`', '')}: ${formatRange(range)} times faster than ${peer}${more ? `, ${more}` : ''}`;
  });
  const { benchmark, rows } = report;
  if (benchmark === 'idle-memory') {
    const { framemask, ws } = rows[0].candidates;
    lines.push(
      `memory of an idle connection: ${formatNumber(framemask.objects[1])} bytes, ws ${formatNumber(ws.objects[1])}`
    );
  }
  if (benchmark === 'tracing') {
    const costs = sortTimes(rows, 'with', 'without').map(({ times }) => (1 / times - 1) * 100);
    const [most, least] = [costs[0], costs.at(-1)].map((cost) => cost.toFixed(1));
    lines.push(`tracing without subscribers: messages take ${least} to ${most} % longer`);
  }
  return lines;
}

module.exports = { findRanges, findWeakestWithoutAddon, formatRange, formatTimes, summarize };
