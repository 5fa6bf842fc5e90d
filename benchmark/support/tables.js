'use strict';

// What a report says: as Markdown tables, and in few words.

/** The figures of a turn: their titles, and what they are multiplied by to be printed. */
const FIGURES = {
  ns: { title: 'ns' },
  ms: { title: 'ms' },
  rate: { title: '1000/s', scale: 1 / 1000 },
  cost: { title: 'CPU µs' },
  user: { title: 'of it user' },
  resident: { title: 'KiB each', scale: 1 / 1024 },
  longest: { title: 'longest turn, ms' },
  p99: { title: 'p99, µs', whole: true },
  serverShare: { title: 'server, % of a core', scale: 100, whole: true },
  clientShare: { title: 'client', scale: 100, whole: true },
  microseconds: { title: 'µs' },
  compressed: { title: 'compressed, B', whole: true },
  held: { title: 'held, B', whole: true },
  opened: { title: 'opened, B', whole: true },
  used: { title: 'after an echo, B', whole: true }
};

/**
 * @returns {string} a Markdown table with aligned columns, of which the first `names` are aligned
 *   to the left
 */
function formatTable(head, rows, names = 1) {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const line = (cells) =>
    `| ${cells.map((cell, i) => (i < names ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (i < names ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

/** @param {number} bytes @returns {string} `125 B`, `4 KiB`, `1 MiB` */
function formatSize(bytes) {
  if (bytes < 1024 || bytes % 1024 !== 0) return `${bytes} B`;
  return bytes < 1024 ** 2 || bytes % 1024 ** 2 !== 0 ? `${bytes / 1024} KiB` : `${bytes / 1024 ** 2} MiB`;
}

/** @returns {string} three digits, or the whole integer part; '' if not finite */
function formatNumber(number) {
  if (!Number.isFinite(number)) return '';
  if (number >= 100) return String(Math.round(number));
  return number.toFixed(number >= 10 ? 1 : 2);
}

function formatFigure(name, value) {
  const { scale = 1, whole = false } = FIGURES[name];
  if (!Number.isFinite(value)) return '';
  return whole ? String(Math.round(value * scale)) : formatNumber(value * scale);
}

/** @param {number} times @returns {string} such as `0.96`, `5.9` or `28` */
function formatTimes(times) {
  return times < 0.995 ? times.toFixed(2) : times < 9.95 ? times.toFixed(1) : String(Math.round(times));
}

const formatRatio = (times) =>
  times === undefined ? ['', ''] : [`${times[1].toFixed(2)}×`, `${times[0].toFixed(2)} to ${times[2].toFixed(2)}`];

/** @returns {[number, number, number] | undefined} quartiles of a pair of a row */
function findTimes(row, own, peer) {
  return row.faster.find((pair) => pair.own === own && pair.peer === peer)?.times;
}

/** One line for each row, one column for each candidate. */
function wideTable(rows) {
  const names = Object.keys(rows[0].medians);
  const [figure] = Object.keys(rows[0].medians[names[0]]);
  const pairs = rows[0].faster.map(({ own, peer }) => [own, peer]);
  const speed = rows[0].bytes !== undefined && figure === 'ns';
  const head = ['', ...names.map((name) => `${name}, ${FIGURES[figure].title}`), ...(speed ? ['GB/s'] : [])];
  for (const [own, peer] of pairs)
    head.push(`${own === names[0] ? '' : `${own}: `}times faster than ${peer}`, 'quartiles');
  const lines = rows.map((row) => [
    row.name,
    ...names.map((name) => formatFigure(figure, row.medians[name][figure])),
    ...(speed ? [formatNumber(row.bytes / row.medians[names[0]].ns)] : []),
    ...pairs.flatMap(([own, peer]) => formatRatio(findTimes(row, own, peer)))
  ]);
  return formatTable(head, lines);
}

/**
 * One line for each candidate of each row, one column for each figure; the first is compared with
 * the others.
 */
function longTable(rows) {
  const figures = [...new Set(rows.flatMap(({ medians }) => Object.values(medians).flatMap(Object.keys)))];
  const ratios = rows.some(({ faster }) => faster.length > 0) ? ['times faster', 'quartiles'] : [];
  const head = ['', 'candidate', ...figures.map((figure) => FIGURES[figure].title), ...ratios];
  const lines = rows.flatMap((row) =>
    Object.entries(row.medians).map(([name, medians], i) => [
      i === 0 ? row.name : '',
      name,
      ...figures.map((figure) => formatFigure(figure, medians[figure])),
      ...formatRatio(row.faster.find(({ peer }) => peer === name)?.times).slice(0, ratios.length)
    ])
  );
  return formatTable(head, lines, 2);
}

/**
 * @param {import('./report').Row[]} rows
 * @returns {string} a table for rows with the same candidates and pairs
 */
function formatRows(rows) {
  const tables = new Map();
  for (const row of rows) {
    const figures = Object.values(row.medians).map(Object.keys);
    const isWide = figures.every((names) => names.length === 1);
    const key = isWide ? [...Object.keys(row.medians), figures[0]].join() : `long ${figures[0]}`;
    if (!tables.has(key)) tables.set(key, { format: isWide ? wideTable : longTable, members: [] });
    tables.get(key).members.push(row);
  }
  return [...tables.values()].map(({ format, members }) => format(members)).join('\n\n');
}

/** What is printed as 0.99 or less. */
const SLOWER = 0.995;

/** Whom a summary compares with. */
const PEERS = ['bufferutil', 'Node.js', 'ws', 'Bun', 'Deno', 'crypto.randomUUID()', 'uuid stringify', 'uuid parse'];

const counts = ({ own, peer }) => own !== 'framemask js' && PEERS.includes(peer);

/**
 * For each kind of work and each pair how many times faster framemask is, from the weakest row to
 * the strongest, and the rows in which it is slower.
 */
function findRanges(rows, wanted = counts) {
  const ranges = new Map();
  for (const { name, group, faster } of rows) {
    for (const { own, peer, times } of faster.filter(wanted)) {
      const key = [group, own, peer].join();
      const found = { name, times: times[1] };
      const range = ranges.get(key) ?? {
        work: group,
        own,
        peer,
        weakest: found,
        strongest: found,
        slower: [],
        rows: 0
      };
      range.rows++;
      if (found.times < SLOWER) range.slower.push(found);
      if (found.times < range.weakest.times) range.weakest = found;
      if (found.times > range.strongest.times) range.strongest = found;
      ranges.set(key, range);
    }
  }
  return [...ranges.values()];
}

/** @param {Range} range @returns {string} such as `1.0 to 5.9` */
function formatRange({ weakest, strongest }) {
  const [low, high] = [weakest, strongest].map(({ times }) => formatTimes(times));
  return low === high ? low : `${low} to ${high}`;
}

/** @returns {Map<string, string[]>} by work, own and peer: work, peer, times faster or bytes */
function findSummary({ rows }) {
  const [{ group, medians }] = rows;
  const held = Object.entries(medians).map(([name, figures]) => `${name} ${formatFigure('held', figures.held)} bytes`);
  if (medians.framemask?.held !== undefined) return new Map([[group, [group, 'ws', held.slice(0, 2).join(', ')]]]);
  const cells = (range) => [range.work.replaceAll('`', ''), range.peer, `${formatRange(range)}×`];
  return new Map(findRanges(rows).map((range) => [`${range.work}, ${range.own}, ${range.peer}`, cells(range)]));
}

/**
 * @param {import('./report').Report[]} reports
 * @param {Record<string, import('./report').Report>} published by part
 * @returns {string} a table of how many times faster framemask is here, and where the published
 *   figures come from
 */
function summarize(reports, published) {
  const lines = reports.flatMap((report) => {
    const known = published[report.benchmark];
    const others = known === undefined ? new Map() : findSummary(known);
    return [...findSummary(report)].map(([key, cells]) => [...cells, others.get(key)?.[2] ?? '']);
  });
  return formatTable(['', 'against', 'times faster here', 'published'], lines, 2);
}

/** Two medians that differ by more than this, with quartiles that are apart, count as different. */
const DIFFERENT = 1.1;

/**
 * Compares the same benchmarks on several versions of Node.js, of which the first is the published
 * one.
 *
 * @param {import('./report').Report[][]} versions the reports of each version, in the same order
 * @returns {{ part: string, name: string, own: string, peer: string, times: number[][] }[]} the
 *   pairs of rows that differ on any other version, and their quartiles on each
 */
function findDifferences([first, ...others]) {
  const differ = ([low, middle, high], [otherLow, other, otherHigh]) =>
    Math.max(middle / other, other / middle) > DIFFERENT && (low > otherHigh || high < otherLow);
  return first.flatMap(({ benchmark: part, rows }, i) =>
    rows.flatMap((row) =>
      row.faster.filter(counts).flatMap(({ own, peer, times }) => {
        const found = others.map((reports) => reports[i].rows.find(({ name }) => name === row.name));
        const all = [times, ...found.map((other) => findTimes(other, own, peer) ?? [NaN, NaN, NaN])];
        return all.some((each) => differ(times, each)) ? [{ part, name: row.name, own, peer, times: all }] : [];
      })
    )
  );
}

module.exports = {
  findDifferences,
  findRanges,
  findTimes,
  formatFigure,
  formatRange,
  formatRatio,
  formatRows,
  formatTable,
  formatSize,
  formatTimes,
  summarize
};
