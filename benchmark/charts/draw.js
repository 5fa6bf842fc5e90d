'use strict';

const { findTimes, formatTimes } = require('../support/tables');

/**
 * A phone shows a page of GitHub with 328 px, and makes wider pictures smaller; a large screen
 * shows SHOWN.
 */
const WIDTH = 360;
const SHOWN = 480;
const FONT = 'Helvetica, Arial, "DejaVu Sans", sans-serif';
/** No text is smaller. */
const FONT_SIZE = 13;
/** The average width of a character, as a share of the font size, in the widest of the fonts. */
const CHARACTER = 0.58;
/** The same in bold: DejaVu Sans Bold has 0.7 for "framemask". */
const BOLD_CHARACTER = 0.71;

/**
 * GitHub's own colors, on a light and on a dark page; `own` is framemask, `peer` ws and bufferutil.
 * All differ.
 */
const PALETTE = {
  background: ['#ffffff', '#0d1117'],
  text: ['#1f2328', '#f0f6fc'],
  quiet: ['#59636e', '#9198a1'],
  grid: ['#d1d9e0', '#3d444d'],
  own: ['#0969da', '#58a6ff'],
  peer: ['#bc4c00', '#f0883e'],
  other: ['#6e7781', '#8b949e'],
  avx2: ['#1b7c83', '#39c5cf'],
  sse2: ['#1a7f37', '#56d364'],
  scalar: ['#8a6d00', '#e3b341'],
  js: ['#8250df', '#bc8cff']
};
const COLORS = Object.fromEntries(Object.entries(PALETTE).map(([role, [light]]) => [role, light]));

/** @returns {object} a title of Vega-Lite, with how to read the chart and where it was measured */
function titleOf(text, explanation, { machine: { cpu, cores, runtime }, date, rounds, noise }) {
  const lines = [...explanation, `${cpu}, ${cores} cores, ${runtime};`, `${date.slice(0, 10)}, ${rounds} rounds.`];
  if (noise.length > 0) lines.push('NOISY MACHINE, not to be quoted');
  return { text, subtitle: lines, anchor: 'start', frame: 'bounds', offset: 14 };
}

/** Where both kinds of charts have their size, and how they fit. */
const FRAME = { width: WIDTH, autosize: { type: 'fit', contains: 'padding' } };
const logarithmic = (field, scale) => ({
  field,
  type: 'quantitative',
  scale: { type: 'log', ...scale, nice: false }
});

const LENGTHS = [8, 125, 2048, 65536, 2 ** 24];
const SPEEDS = [0.1, 1, 10, 100];
const LABEL = `datum.value < 1024 ? datum.value + ' B'
  : datum.value < 1048576 ? datum.value / 1024 + ' KiB' : datum.value / 1048576 + ' MiB'`;
const PLOT = 260;

/** Lines of GB/s over the length of a payload, each with its name at its end. */
function linesChart(report, work, series, title) {
  const rows = report.rows.filter(({ name, bytes }) => name.startsWith(`${work} `) && bytes > 0);
  const known = Object.entries(series).filter(([name]) => name in rows[0].medians);
  const point = ({ bytes, medians }, [name, [label]]) => ({ bytes, speed: bytes / medians[name].ns, label });
  const values = rows.flatMap((row) => known.map((line) => point(row, line)));
  const speeds = values.map(({ speed }) => speed);
  const domain = [Math.min(...speeds) * 0.8, Math.max(...speeds) * 1.25];
  // Names are moved apart where lines end close together.
  const step = (domain[1] / domain[0]) ** (17 / PLOT);
  const ends = known.map((line) => point(rows.at(-1), line)).sort((a, b) => b.speed - a.speed);
  for (const [i, end] of ends.entries()) if (i > 0) end.speed = Math.min(end.speed, ends[i - 1].speed / step);

  const [x, y] = [logarithmic('bytes', { base: 2 }), logarithmic('speed', { domain })];
  const scale = { domain: known.map(([, [label]]) => label), range: known.map(([, [, color]]) => color) };
  const color = { field: 'label', type: 'nominal', legend: null, scale };
  return {
    title: titleOf(title, ['GB/s by length of the payload.', 'Both axes are logarithmic. Higher is better.'], report),
    ...FRAME,
    height: PLOT + 130,
    encoding: { color },
    layer: [
      {
        data: { values },
        mark: { type: 'line', strokeWidth: 2.5, point: { size: 16, filled: true } },
        encoding: {
          x: { ...x, axis: { values: LENGTHS, labelExpr: LABEL, grid: false, labelFlush: false, title: null } },
          y: { ...y, axis: { values: SPEEDS, format: '~g', title: null } }
        }
      },
      {
        data: { values: ends },
        mark: { type: 'text', align: 'left', dx: 8, fontWeight: 'bold' },
        encoding: { x, y, text: { field: 'label', type: 'nominal' } }
      }
    ]
  };
}

const TIMES = [0.5, 1, 2, 5, 10, 20, 40];
const BAR = 19;

/** Bars of how many times faster candidates are than a peer, which is the line at 1. */
function timesChart(report, { title, explanation = QUARTILES, values, colors }) {
  const series = Object.keys(colors);
  const points = values(report).map(({ row, series: name, times: [low, median, high] }) => {
    const text = `${series.length > 1 ? `${name} ` : ''}${formatTimes(median)}×`;
    // The number stands after all that is drawn, and after the line at 1.
    return { row, series: name, one: 1, low, median, high, text, end: Math.max(1, high) };
  });
  const least = Math.min(0.9, ...points.map(({ low }) => low * 0.95));
  const most = Math.max(...points.map(({ end }) => end));
  // Room for the longest text on the right.
  const room = Math.max(...points.map(({ text }) => text.length)) * FONT_SIZE * CHARACTER + 12;
  const names = Math.max(...points.map(({ row }) => row.length)) * FONT_SIZE * CHARACTER + 20;
  const share = room / (WIDTH - names - 20);
  const domain = [least, most * (most / least) ** (share / (1 - share))];
  const x = (field) => logarithmic(field, { domain });
  const rows = new Set(points.map(({ row }) => row)).size;
  const offset = series.length > 1 ? { yOffset: { field: 'series', type: 'nominal', scale: { domain: series } } } : {};
  const axis = { title: null, values: TIMES.filter((value) => value <= most), format: '~g' };
  const scale = { domain: series, range: Object.values(colors) };
  const color = { field: 'series', type: 'nominal', legend: null, scale };
  return {
    title: titleOf(title, explanation, report),
    data: { values: points },
    ...FRAME,
    height: points.length * BAR + rows * 5 + 150,
    encoding: {
      y: { field: 'row', type: 'nominal', sort: null, axis: { title: null, ticks: false, labelPadding: 6 } },
      ...offset
    },
    layer: [
      {
        mark: { type: 'bar', height: { band: 0.7 } },
        encoding: { x: { ...x('one'), axis }, x2: { field: 'median' }, color }
      },
      {
        mark: { type: 'rule', strokeWidth: 1.5, color: COLORS.text },
        encoding: { x: x('low'), x2: { field: 'high' } }
      },
      {
        mark: { type: 'text', align: 'left', dx: 6 },
        encoding: { x: x('end'), text: { field: 'text', type: 'nominal' } }
      },
      {
        data: { values: [{}] },
        mark: { type: 'rule', color: COLORS.peer, strokeWidth: 2 },
        encoding: { x: { datum: 1, type: 'quantitative' }, y: null, yOffset: null }
      }
    ]
  };
}

/** @returns {object[]} how many times faster than ws the rows are that have a name in the chart */
const timesOf = ({ rows }, own, label = (name) => name) =>
  rows
    .map((row) => ({ row: label(row.name), series: own, times: findTimes(row, own, 'ws') }))
    .filter(({ row, times }) => row !== null && times !== undefined);

/** The rows in which `onFrame` is compared with work of another kind are in the table alone. */
const labelDecode = (name) =>
  name.startsWith('frames') ? null : name.replace(', one a chunk', ' alone').replace(', byte by byte', ', by bytes');

/** Callbacks change little: they are in the table alone. */
const labelWs = (name) =>
  name.endsWith('callbacks')
    ? null
    : name.replace(/^echo (.*), deflate$/, 'deflate $1').replace('broadcast', 'to 300:');

/** @returns {object[]} framemask beside ws, and Bun, whose ratio is that of the medians */
function echoValues(report) {
  return timesOf(report, 'framemask').flatMap((value) => {
    const { Bun, ws } = report.rows.find(({ name }) => name === value.row).medians;
    const ratio = Bun?.rate / ws.rate;
    return Bun === undefined ? [value] : [value, { row: value.row, series: 'Bun', times: [ratio, ratio, ratio] }];
  });
}

const { own, peer, other } = COLORS;
const LINES = { framemask: ['framemask', own], bufferutil: ['bufferutil', peer], 'Node.js': ['Node.js', other] };
const QUARTILES = ['Logarithmic; the line at 1 is ws.', 'Longer is better. Thin lines are quartiles.'];

/** @returns {Record<string, [label: string, color: string]>} framemask's kernels, the best first */
function kernelLines({ machine: { kernel } }) {
  const others = ['avx2', 'sse2', 'scalar', 'js'].filter((name) => name !== kernel);
  const lines = others.map((name) => [`framemask ${name}`, [name === 'js' ? 'JavaScript' : name, COLORS[name]]]);
  return { framemask: [kernel, own], ...Object.fromEntries(lines) };
}

/** By the name of the file: the part, the text for those who see no chart, and its spec. */
const CHARTS = {
  unmask: {
    part: 'masking',
    alt: 'unmask: GB/s by payload length, beside bufferutil',
    spec: (report) => linesChart(report, 'unmask', LINES, 'unmask, in place')
  },
  mask: {
    part: 'masking',
    alt: 'mask: GB/s of framemask, bufferutil and Node.js by payload length',
    spec: (report) => linesChart(report, 'mask', LINES, 'mask, into another buffer')
  },
  kernels: {
    part: 'masking',
    alt: "unmask: GB/s of framemask's kernels by payload length",
    spec: (report) => linesChart(report, 'unmask', kernelLines(report), "unmask with each of framemask's kernels")
  },
  decode: {
    part: 'decode',
    alt: 'decode: times faster than ws, by kind of message',
    title: "decode: times faster than ws's Receiver",
    values: (report) => timesOf(report, 'framemask', labelDecode),
    colors: { framemask: own }
  },
  echo: {
    part: 'echo',
    alt: 'echo: messages a second, times those of ws',
    title: 'echo: messages a second, times those of ws',
    explanation: ['Ten connections over loopback, a batch at once.', ...QUARTILES],
    values: echoValues,
    colors: { framemask: own, Bun: other }
  },
  ws: {
    part: 'ws',
    alt: 'framemask/ws: times as many messages a second as ws',
    title: 'framemask/ws: messages/s, times those of ws',
    values: (report) => timesOf(report, 'framemask/ws', labelWs),
    colors: { 'framemask/ws': own }
  }
};

/** In the colors of the light theme. */
const CONFIG = {
  background: COLORS.background,
  // The picture has an alt text.
  aria: false,
  font: FONT,
  padding: 6,
  view: { stroke: null },
  axis: {
    labelColor: COLORS.text,
    labelFontSize: FONT_SIZE,
    labelLimit: 200,
    gridColor: COLORS.grid,
    domainColor: COLORS.quiet,
    tickColor: COLORS.quiet
  },
  title: {
    color: COLORS.text,
    // In DejaVu Sans Bold, the longest title takes 340 of 348 pixels.
    fontSize: FONT_SIZE,
    subtitleColor: COLORS.quiet,
    subtitleFontSize: FONT_SIZE,
    subtitleLineHeight: 17,
    subtitlePadding: 6
  },
  text: { color: COLORS.text, fontSize: FONT_SIZE }
};

/**
 * Draws without a browser. The same spec gives the same bytes on every machine: text is measured by
 * its characters.
 */
async function drawSvg(spec) {
  const vega = await import('vega');
  const { compile } = await import('vega-lite');
  vega.textMetrics.width = (item, text) => {
    const share = item.fontWeight === 'bold' ? BOLD_CHARACTER : CHARACTER;
    return Math.ceil(String(text ?? item.text ?? '').length * (item.fontSize ?? FONT_SIZE) * share);
  };
  const view = new vega.View(vega.parse(compile({ ...spec, config: CONFIG }).spec), {
    renderer: 'none',
    logLevel: vega.Warn
  });
  const svg = await view.toSVG();
  view.finalize();
  return `${svg}\n`;
}

/** @returns {string} the same SVG in the colors of a dark page */
const darken = (svg) => svg.replace(/#[\da-f]{6}/g, (color) => new Map(Object.values(PALETTE)).get(color) ?? color);

/** @param {object} reports by part @returns {Promise<Record<string, string>>} charts, by file */
async function drawCharts(reports) {
  const files = {};
  for (const [name, chart] of Object.entries(CHARTS)) {
    const report = reports[chart.part];
    if (report === undefined) continue;
    const light = await drawSvg(chart.spec?.(report) ?? timesChart(report, chart));
    files[`${name}-light.svg`] = light;
    files[`${name}-dark.svg`] = darken(light);
  }
  return files;
}

/** @returns {string} the chart for light and dark pages; `folder` is that of the charts */
function picture(name, folder) {
  return [
    '<picture>',
    `<source media="(prefers-color-scheme: dark)" srcset="${folder}${name}-dark.svg">`,
    `<img width="${SHOWN}" alt="${CHARTS[name].alt}" src="${folder}${name}-light.svg">`,
    '</picture>'
  ].join('\n');
}

module.exports = { CHARTS, drawCharts, picture };
