'use strict';

// The generated parts of docs/figures.md.

const { machineLine } = require('../support/machine');
const { formatNumber, formatSize, formatTable } = require('../support/table');
const { CHARTS } = require('./draw');

/**
 * @param {string} name in CHARTS
 * @param {string} folder of the charts, from the page
 * @returns {string} the chart for a light and for a dark page
 */
function picture(name, folder) {
  return [
    '<picture>',
    `<source media="(prefers-color-scheme: dark)" srcset="${folder}${name}-dark.svg">`,
    `<img alt="${CHARTS[name].alt}" src="${folder}${name}-light.svg">`,
    '</picture>'
  ].join('\n');
}

/** @param {import('../support/report').Report} report @returns {string} where, when and how it was measured */
function sourceOf({ benchmark, machine, versions, date, rounds, load, spread, noise }) {
  const peers = Object.entries(versions).map((pair) => pair.join(' '));
  const percent = (share) => `${Math.round(share * 100)} %`;
  const lines = [
    `[The numbers](../benchmark/results/${benchmark}.json): ${machineLine(machine)}, ${machine.release};`,
    `${peers.join(', ')}; ${date.slice(0, 10)}; ${rounds} rounds. Other processes took ${percent(Math.max(...load.others))} of`,
    `the cores; the quartiles of half of all figures are at most ${percent(spread)} apart.`
  ];
  if (noise.length > 0) lines.push(`**Noisy, not to be quoted: ${noise.join('; ')}.**`);
  return lines.join('\n');
}

const times = ([, middle]) => `${middle.toFixed(2)}×`;
const quartiles = ([low, , high]) => `${low.toFixed(2)} to ${high.toFixed(2)}`;
const find = (row, own, peer) => row.timesFaster.find((pair) => pair.own === own && pair.peer === peer)?.times;

/** @returns {string} GB/s of each candidate, and times faster than bufferutil */
function maskingTable({ rows }, work) {
  const chosen = rows.filter(({ group, bytes }) => group === work && bytes > 0);
  const names = Object.keys(chosen[0].candidates).filter((name) => name !== 'bufferutil js');
  const compared = chosen.some((row) => find(row, 'framemask', 'bufferutil') !== undefined);
  const head = [`${work}, GB/s`, ...names, ...(compared ? ['times faster than bufferutil', 'quartiles'] : [])];
  const lines = chosen.map((row) => {
    const pair = find(row, 'framemask', 'bufferutil');
    return [
      formatSize(row.bytes),
      ...names.map((name) => formatNumber(row.bytes / row.candidates[name].ns[1])),
      ...(compared ? [times(pair), quartiles(pair)] : [])
    ];
  });
  return formatTable(head, lines);
}

/** @returns {string} nanoseconds of each candidate, and times faster than ws */
function codecTable({ rows }, title) {
  const names = [...new Set(rows.flatMap(({ candidates }) => Object.keys(candidates)))].filter((name) =>
    rows.filter(({ candidates }) => name in candidates).some(({ name }) => name !== '1,000 messages')
  );
  const head = [title, ...names.map((name) => `${name}, ns`), 'times faster than ws', 'quartiles', 'in JavaScript'];
  const lines = rows.map((row) => [
    row.name,
    ...names.map((name) => formatNumber(row.candidates[name]?.ns[1])),
    times(find(row, 'framemask', 'ws')),
    quartiles(find(row, 'framemask', 'ws')),
    times(find(row, 'framemask js', 'ws'))
  ]);
  return formatTable(head, lines);
}

/** @returns {string} how fast memory and the unavoidable work are */
function thousandMessages({ rows }) {
  const row = rows.find(({ candidates }) => candidates.memcpy !== undefined);
  const speeds = Object.entries(row.candidates).map(([who, { ns }]) => [who, `${formatNumber(row.bytes / ns[1])}`]);
  return formatTable([row.name, 'GB/s'], speeds);
}

/** @returns {string} a line for each server in each row */
function serverTable({ rows }, own) {
  const share = (figure) => (figure === undefined ? '' : String(Math.round(figure[1] * 100)));
  const lines = rows.flatMap((row) =>
    Object.entries(row.candidates).map(([server, { rate, cost, serverShare, clientShare }], i) => {
      const pair = find(row, own, server);
      return [
        i === 0 ? row.name : '',
        server,
        formatNumber(rate[1] / 1000),
        pair === undefined ? '' : times(pair),
        pair === undefined ? '' : quartiles(pair),
        formatNumber(cost?.[1]),
        share(serverShare),
        share(clientShare)
      ];
    })
  );
  const head = ['', 'server', '1000/s', 'times faster', 'quartiles', 'CPU µs', 'server, % of a core', 'client'];
  return formatTable(head, lines, 2);
}

/** @returns {string} microseconds of the server for each connection */
function broadcastTable({ rows, clients }) {
  const names = Object.keys(rows[0].candidates);
  const head = [`to each of ${clients}, µs`, ...names, 'times faster than ws', 'quartiles'];
  const lines = rows.map((row) => [
    row.name,
    ...names.map((name) => formatNumber(row.candidates[name].microseconds[1])),
    times(find(row, 'framemask', 'ws')),
    quartiles(find(row, 'framemask', 'ws'))
  ]);
  return formatTable(head, lines);
}

/** @returns {string} bytes of heap and external memory */
function memoryTable({ rows }) {
  const lines = Object.entries(rows[0].candidates).map(([name, { objects }]) => [name, formatNumber(objects[1])]);
  return formatTable(['an idle connection', 'bytes'], lines);
}

/** @returns {string} the heap of an idle connection of a server, beside its socket */
function idleTable({ idle }) {
  const lines = Object.entries(idle).map(([name, { opened, used }]) => [
    name,
    ...[opened, used].map(({ heap }) => formatNumber(Math.round(heap)))
  ]);
  return formatTable(['an idle connection, bytes of heap', 'opened', 'after an echo'], lines);
}

/**
 * @param {Record<string, import('../support/report').Report>} reports by part
 * @returns {Record<string, string>} Markdown, by the name of the place in docs/figures.md
 */
function figureBlocks(reports) {
  const { masking, decode, encode, echo, ws, broadcast } = reports;
  const join = (...parts) => parts.join('\n\n');
  const chart = (name) => picture(name, 'charts/');
  // Long tables are folded, so that the page shows its charts first.
  const fold = (...tables) => ['<details><summary>All rows as a table</summary>', ...tables, '</details>'].join('\n\n');
  const memory = reports['idle-memory'];
  return {
    unmask: join(chart('unmask'), sourceOf(masking), fold(maskingTable(masking, 'unmask'))),
    mask: join(chart('mask'), sourceOf(masking), fold(maskingTable(masking, 'mask'))),
    decode: join(chart('decode'), sourceOf(decode), thousandMessages(decode), fold(codecTable(decode, 'a message'))),
    encode: join(sourceOf(encode), codecTable(encode, 'a message')),
    echo: join(chart('echo'), sourceOf(echo), fold(serverTable(echo, 'framemask'))),
    ws: join(chart('ws'), sourceOf(ws), idleTable(ws), fold(serverTable(ws, 'framemask/ws'))),
    broadcast: join(sourceOf(broadcast), broadcastTable(broadcast)),
    memory: join(sourceOf(memory), memoryTable(memory))
  };
}

module.exports = { figureBlocks, picture };
