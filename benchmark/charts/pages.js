'use strict';

// The generated parts of docs/figures.md and README.md.

const fs = require('node:fs');
const path = require('node:path');
const { machineLine, percent } = require('../support/report');
const { findRanges, formatFigure, formatRange, formatRows, formatTable, formatTimes } = require('../support/tables');
const { drawCharts, picture } = require('./draw');

/**
 * @param {import('../support/report').Report} report
 * @returns {string} where, when and how it was measured
 */
function sourceOf({ machine, versions, date, commit, rounds, others, spread, noise }) {
  const peers = Object.entries(versions).map((pair) => pair.join(' '));
  const lines = [
    `${machineLine(machine)}, ${machine.release}; ${peers.join(', ')}; commit ${commit}, ${date.slice(0, 10)}; ${rounds} rounds.`,
    `Other processes took ${percent(others)} of the cores; the quartiles of half of all figures are at most ${percent(spread)} apart.`
  ];
  if (noise.length > 0) lines.push(`**Noisy, not to be quoted: ${noise.join('; ')}.**`);
  return lines.join('\n');
}

/** Long tables are folded, so that the page shows its charts first. */
const fold = (table) => `<details><summary>All rows as a table</summary>\n\n${table}\n\n</details>`;

/** The blocks of docs/figures.md, by the name of their place. */
const BLOCKS = {
  unmask: { part: 'masking', charts: ['unmask', 'kernels'], rows: ({ name }) => name.startsWith('unmask') },
  mask: { part: 'masking', charts: ['mask'], rows: ({ name }) => name.startsWith('mask') },
  decode: { part: 'decode', charts: ['decode'], rows: ({ name }) => !name.startsWith('frames') },
  frames: { part: 'decode', charts: [], rows: ({ name }) => name.startsWith('frames') },
  encode: { part: 'encode', charts: [] },
  echo: { part: 'echo', charts: ['echo'] },
  ws: { part: 'ws', charts: ['ws'] },
  connections: { part: 'connections', charts: [] },
  broadcast: { part: 'broadcast', charts: [] },
  memory: { part: 'idle-memory', charts: [] },
  loads: { part: 'loads', charts: [] },
  programs: { part: 'programs', charts: [] }
};

/** @returns {Record<string, string>} Markdown of the parts there are, by the name of its place */
function figureBlocks(reports) {
  const blocks = Object.entries(BLOCKS).filter(([, { part }]) => reports[part] !== undefined);
  return Object.fromEntries(
    blocks.map(([name, { part, charts, rows = () => true }]) => {
      const report = reports[part];
      const table = formatRows(report.rows.filter(rows));
      const pictures = charts.map((chart) => picture(chart, 'charts/'));
      return [name, [...pictures, sourceOf(report), charts.length > 0 ? fold(table) : table].join('\n\n')];
    })
  );
}

const [BUFFERS, FRAMES] = ["ws's Receiver, which makes Buffers", 'decode the same by `onFrame`, which makes no object'];
const LOADS = 'CPU of sixty other loads';
/** The ranges of README: the part, whom with whom, what its rows are called together, and here. */
const RANGES = [
  ['masking', 'framemask', 'bufferutil', '`unmask` in place'],
  ['masking', 'framemask', 'Node.js', '`unmask` in place', '`http.websocketUnmask`'],
  ['masking', 'framemask', 'bufferutil', '`mask` into another buffer'],
  ['masking', 'framemask', 'Node.js', '`mask` into another buffer', '`http.websocketMask`'],
  ['decode', 'framemask', 'ws', 'decode 64 KiB chunks of small frames'],
  ['decode', 'framemask', 'ws', FRAMES, BUFFERS],
  ['decode', 'framemask', 'ws', 'decode 1,000 messages of 0 to 64 KiB'],
  ['encode', 'framemask', 'ws', 'encode as a server'],
  ['encode', 'framemask', 'ws', 'encode as a client'],
  ['echo', 'framemask', 'ws', 'echo'],
  ['echo', 'framemask', 'Bun', 'echo'],
  ['connections', 'shared', 'Bun', '`Connection`: CPU of one message at a time'],
  ['ws', 'framemask/ws', 'ws', '`framemask/ws`: echo'],
  ['connections', 'shared', 'ws', '`framemask/ws`: CPU of one message at a time'],
  ['programs', 'framemask', 'ws', 'CPU of programs on ws'],
  ['loads', 'framemask/ws', 'ws', LOADS, 'ws', `\`framemask/ws\`: ${LOADS}`],
  ['loads', 'Connection', 'ws', LOADS, 'ws', `\`Connection\`: ${LOADS}`],
  ['broadcast', 'framemask', 'ws', 'broadcast to 1,000 connections']
];

/** Below those: the work, its part, the candidate beside ws, and the figure, in bytes. */
const MEMORY = [
  ['a Decoder and an Encoder: memory while idle', 'idle-memory', 'framemask', 'held'],
  ['`framemask/ws`: memory of a connection after an echo', 'ws', 'framemask/ws', 'used']
];

/** More rows than these are those from the first to the last. */
const MOST_NAMES = 4;

/** @param {string} name of a row @returns {string} without the words that name the work */
const shorten = (name) => name.replace(/^(unmask|mask|echo|server:|client:|codec:|framemask\/ws:) /, '');

/** @returns {string} such as `8 B to 1 KiB`, of rows that stand together, or `8 B, 1 KiB` */
function namesOf(rows) {
  const names = rows.map(({ name }) => shorten(name));
  return names.length > MOST_NAMES ? `${names[0]} to ${names.at(-1)}` : names.join(', ');
}

/** @returns {string} the rows that are slowest without the addon */
function weakestWithoutAddon({ masking, decode, encode }) {
  const weakest = ({ benchmark, rows }) =>
    findRanges(rows, ({ own }) => own === 'framemask js').map((range) => ({ benchmark, ...range.weakest }));
  const place = ({ benchmark, name }) => (benchmark === 'masking' ? name : `${benchmark} ${name}`);
  return [masking, decode, encode]
    .flatMap(weakest)
    .sort((a, b) => a.times - b.times)
    .slice(0, 3)
    .map((row) => `${formatTimes(row.times)}× (${place(row)})`)
    .join(', ');
}

/** @returns {string} the machine of most parts, and the parts that others have measured */
function machinesOf(reports) {
  const machines = new Map();
  for (const [part, { machine, date }] of Object.entries(reports)) {
    const line = `on ${machine.cpu}, ${machine.cores} cores, ${machine.runtime}, ${date.slice(0, 10)}`;
    machines.set(line, [...(machines.get(line) ?? []), part]);
  }
  const [[most], ...others] = [...machines].sort(([, a], [, b]) => b.length - a.length);
  return [`\n${most}`, ...others.map(([line, parts]) => `${parts.join(', ')} ${line}`)].join(';\n');
}

/**
 * @param {Record<string, import('../support/report').Report>} reports all, by part
 * @returns {string} Markdown
 */
function readmeBlock(reports) {
  const measured = RANGES.filter(([part]) => reports[part] !== undefined);
  const lines = measured.map(([part, own, peer, work, shown = peer, title = work]) => {
    const wanted = (pair) => pair.own === own && pair.peer === peer;
    const range = findRanges(reports[part].rows, wanted).find((found) => found.work === work);
    const { slower, weakest } = range;
    // Those between others stand in no order.
    const isOrdered = work !== LOADS || slower.length <= MOST_NAMES;
    const few = slower.length > 0 && isOrdered ? slower : [weakest];
    const names = slower.length === range.rows ? 'all' : namesOf(few);
    return [title, shown, `${formatRange(range)}×`, range.rows === 1 ? '' : names];
  });
  for (const [work, part, name, figure] of MEMORY) {
    const { medians } = reports[part].rows.find(({ medians }) => medians[name]?.[figure] !== undefined);
    const [own, peer] = [name, 'ws'].map((each) => formatFigure(figure, medians[each][figure]));
    lines.push([work, 'ws', `${own} bytes, ws ${peer}`, '']);
  }
  return [
    ...['unmask', 'echo'].map((name) => picture(name, 'docs/charts/')),
    `From the weakest to the strongest row,${machinesOf(reports)}.\nAll rows: [docs/figures.md](docs/figures.md).`,
    '| work | against | times faster | rows below 1, or the weakest |\n|---|---|--:|---|\n' +
      lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n'),
    `Without the addon the weakest rows are\n${weakestWithoutAddon(reports)}.`
  ].join('\n\n');
}

/**
 * @param {{ versions: string[], rows: ReturnType<import('../support/tables').findDifferences> }}
 *   versions
 * @returns {string} Markdown
 */
function versionsBlock({ versions, rows }) {
  const lines = rows.map(({ part, name, own, peer, times }) => [
    part,
    name,
    `${own}, ${peer}`,
    ...times.map(([, median]) => (median === null ? '' : `${formatTimes(median)}×`))
  ]);
  return fold(formatTable(['', 'row', 'times faster, than', ...versions], lines, 3));
}

/** Replaces what stands between `<!-- figures: NAME -->` and `<!-- /figures -->`. */
function fill(file, blocks) {
  const text = fs.readFileSync(file, 'utf8').replaceAll('\r\n', '\n');
  const left = new Set(Object.keys(blocks));
  const filled = text.replace(/(<!-- figures: (\w+) -->\n)[\s\S]*?(<!-- \/figures -->)/g, (_, start, name, end) => {
    if (!left.delete(name)) throw new Error(`${file} has a place for "${name}", which is not generated or there twice`);
    return `${start}\n${blocks[name]}\n\n${end}`;
  });
  if (left.size > 0) throw new Error(`${file} has no place for ${[...left].join(', ')}`);
  return filled;
}

async function chartFiles(reports, folder) {
  const charts = Object.entries(await drawCharts(reports));
  return Object.fromEntries(charts.map(([name, svg]) => [path.join(folder, 'charts', name), svg]));
}

/** @returns {Promise<Record<string, string>>} docs/ and README.md of all reports, by path */
async function generateDocs(reports, versions, root) {
  const [figures, readme] = ['docs/figures.md', 'README.md'].map((name) => path.join(root, name));
  const places = Object.fromEntries(Object.keys(BLOCKS).map((name) => [name, 'Not measured yet.']));
  return {
    ...(await chartFiles(reports, path.join(root, 'docs'))),
    [figures]: fill(figures, { ...places, ...figureBlocks(reports), versions: versionsBlock(versions) }),
    [readme]: fill(readme, { summary: readmeBlock(reports) })
  };
}

/** @returns {Promise<Record<string, string>>} a page of some reports, and its charts, by path */
async function generateLocal(reports, versions, folder) {
  const all = { ...figureBlocks(reports), versions: versionsBlock(versions) };
  const blocks = Object.entries(all).map(([name, text]) => `## ${name}\n\n${text}`);
  const page = ['# Figures of this machine', ...blocks].join('\n\n');
  return { ...(await chartFiles(reports, folder)), [path.join(folder, 'figures.md')]: `${page}\n` };
}

module.exports = { generateDocs, generateLocal };
