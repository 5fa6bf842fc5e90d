'use strict';

// The generated part of README.md.

const { findRanges, findWeakestWithoutAddon, formatRange, formatTimes } = require('../support/digest');
const { formatNumber } = require('../support/table');
const { picture } = require('./figures');

/** The ranges of docs/figures.md that README has: the part, its peer, and what the work is called there. */
const CHOSEN = [
  ['masking', 'bufferutil', '`unmask` in place'],
  ['masking', 'bufferutil', '`mask` into another buffer'],
  ['decode', 'ws', 'decode 64 KiB chunks of small frames'],
  ['decode', 'ws', 'decode 1,000 messages of 0 to 64 KiB'],
  ['encode', 'ws', 'encode as a server'],
  ['encode', 'ws', 'encode as a client'],
  ['echo', 'ws', 'echo'],
  ['echo', 'Bun', 'echo'],
  ['ws', 'ws', '`framemask/ws`: echo'],
  ['broadcast', 'ws', /^broadcast/]
];
/** How many rows that are slow without the addon are named. */
const WEAKEST = 3;

/** @param {string} name of a row @returns {string} without what the name of the work says already */
function shorten(name) {
  return name.replace(/^(unmask|mask|echo|server:|client:) /, '').replace(/, one a chunk$/, '');
}

/**
 * @param {Record<string, import('../support/report').Report>} reports by part
 * @returns {string} charts, and the table of ranges
 */
function readmeBlock(reports) {
  const lines = CHOSEN.flatMap(([part, peer, wanted]) =>
    findRanges(reports[part])
      .filter((range) => range.peer === peer && (wanted.test?.(range.work) ?? range.work === wanted))
      .map((range) => {
        const { work, weakest, strongest } = range;
        return [work, peer, `${formatRange(range)}×`, weakest === strongest ? '' : shorten(weakest.name)];
      })
  );
  const { framemask, ws } = reports['idle-memory'].rows[0].candidates;
  const [own, peer] = [framemask, ws].map(({ objects }) => formatNumber(objects[1]));
  lines.push(['memory of an idle connection', 'ws', `${own} bytes, ws ${peer}`, '']);

  const all = Object.values(reports);
  const { machine, date } = reports.echo;
  const weak = findWeakestWithoutAddon(all)
    .sort((a, b) => a.times - b.times)
    .slice(0, WEAKEST)
    .map(({ work, times }) => `${formatTimes(times)}× (${work})`);
  const noisy = all.some(({ noise }) => noise.length > 0);
  const paragraphs = [
    picture('unmask', 'docs/charts/'),
    picture('decode', 'docs/charts/'),
    picture('echo', 'docs/charts/'),
    [
      `From the weakest to the strongest row, on ${machine.cpu}, ${machine.cores} cores, ${machine.runtime}, ${date.slice(0, 10)}. All`,
      'rows: [docs/figures.md](docs/figures.md), drawn from [benchmark/results/](benchmark/results) by `npm run bench:charts`.'
    ].join('\n')
  ];
  if (noisy) paragraphs.push(`**The machine was noisy; don't quote these figures.**`);
  const table = [
    '| work | against | times faster | weakest row |',
    '|---|---|--:|---|',
    ...lines.map((cells) => `| ${cells.join(' | ')} |`)
  ];
  paragraphs.push(table.join('\n'), `Without the addon the weakest rows are ${weak.join(', ')}.`);
  return paragraphs.join('\n\n');
}

module.exports = { readmeBlock };
