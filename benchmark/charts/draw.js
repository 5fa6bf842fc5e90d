'use strict';

const { findTimes, formatTimes } = require('../support/tables');

/**
 * A phone shows a page of GitHub with 328 px, and makes wider pictures smaller. On a large screen
 * the picture is shown with SHOWN.
 */
const WIDTH = 360;
const SHOWN = 480;
const FONT = 'Helvetica, Arial, "DejaVu Sans", sans-serif';
/** No text is smaller. */
const FONT_SIZE = 13;
/** The average width of a character, as a share of the font size, in the widest of the fonts. */
const CHARACTER = 0.58;
/** Characters in a line of the subtitle. */
const LINE = 50;

/** GitHub's own colors; `own` is framemask, `peer` ws and bufferutil. No two roles share one. */
const THEMES = {
  light: {
    background: '#ffffff',
    text: '#1f2328',
    quiet: '#59636e',
    grid: '#d1d9e0',
    own: '#0969da',
    peer: '#bc4c00',
    other: '#6e7781',
    kernels: ['#1b7c83', '#1a7f37', '#8a6d00', '#8250df']
  },
  dark: {
    background: '#0d1117',
    text: '#f0f6fc',
    quiet: '#9198a1',
    grid: '#3d444d',
    own: '#58a6ff',
    peer: '#f0883e',
    other: '#8b949e',
    kernels: ['#39c5cf', '#56d364', '#e3b341', '#bc8cff']
  }
};
const { light: COLORS } = THEMES;

/** @param {string} text @returns {string[]} lines that fit */
function wrap(text) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== '' && last.length + word.length >= LINE) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}

/** @returns {object} a title of Vega-Lite, with how to read the chart and where it was measured */
function titleOf(text, explanation, { machine, date, rounds, noise }) {
  const measured = `${machine.cpu}, ${machine.cores} cores, ${machine.runtime}; ${date.slice(0, 10)}, ${rounds} rounds.`;
  const lines = [...wrap(explanation), ...wrap(measured)];
  if (noise.length > 0) lines.push(...wrap(`NOISY MACHINE, not to be quoted: ${noise.join('; ')}`));
  return { text, subtitle: lines, anchor: 'start', frame: 'bounds', offset: 14 };
}

const LENGTHS = [8, 125, 2048, 65536, 2 ** 24];
const SPEEDS = [0.1, 1, 10, 100];
const LABEL = `datum.value < 1024 ? datum.value + ' B'
  : datum.value < 1048576 ? datum.value / 1024 + ' KiB' : datum.value / 1048576 + ' MiB'`;
const PLOT = 260;

/**
 * Lines of GB/s over the length of a payload, each with its name at its end.
 *
 * @param {import('../support/report').Report} report of masking.js
 * @param {string} work unmask or mask
 * @param {[candidate: string, label: string, color: string][]} series
 * @param {string} title
 * @returns {object} of Vega-Lite
 */
function linesChart(report, work, series, title) {
  const rows = report.rows.filter(({ name, bytes }) => name.startsWith(`${work} `) && bytes > 0);
  const known = series.filter(([name]) => name in rows[0].medians);
  const speed = ({ bytes, medians }, name) => bytes / medians[name].ns;
  const values = rows.flatMap((row) =>
    known.map(([name, label]) => ({ bytes: row.bytes, speed: speed(row, name), label }))
  );
  const speeds = values.map((value) => value.speed);
  const domain = [Math.min(...speeds) * 0.8, Math.max(...speeds) * 1.25];
  // Names are moved apart where lines end close together.
  const step = (Math.log(domain[1] / domain[0]) * 17) / PLOT;
  const ends = known
    .map(([name, label]) => ({ bytes: rows.at(-1).bytes, at: Math.log(speed(rows.at(-1), name)), label }))
    .sort((a, b) => b.at - a.at);
  ends.forEach((end, i) => {
    if (i > 0) end.at = Math.min(end.at, ends[i - 1].at - step);
  });
  const low = Math.log(domain[0]) + step / 2;
  ends.toReversed().forEach((end, i, all) => {
    end.at = Math.max(end.at, i === 0 ? low : all[i - 1].at + step);
  });

  const x = { field: 'bytes', type: 'quantitative', scale: { type: 'log', base: 2, nice: false } };
  const y = { type: 'quantitative', scale: { type: 'log', domain, nice: false } };
  const labels = known.map(([, label]) => label);
  const color = {
    field: 'label',
    type: 'nominal',
    scale: { domain: labels, range: known.map(([, , hue]) => hue) },
    legend: null
  };
  return {
    title: titleOf(title, 'GB/s by length of the payload, both axes logarithmic. Higher is better.', report),
    width: WIDTH,
    height: PLOT + 130,
    autosize: { type: 'fit', contains: 'padding' },
    layer: [
      {
        data: { values },
        mark: { type: 'line', strokeWidth: 2.5, point: { size: 16, filled: true } },
        encoding: {
          x: { ...x, axis: { values: LENGTHS, labelExpr: LABEL, grid: false, labelFlush: false, title: null } },
          y: { ...y, field: 'speed', axis: { values: SPEEDS, format: '~g', title: null } },
          color
        }
      },
      {
        data: { values: ends.map((end) => ({ ...end, speed: Math.exp(end.at) })) },
        mark: { type: 'text', align: 'left', dx: 8, fontWeight: 'bold' },
        encoding: { x, y: { ...y, field: 'speed' }, text: { field: 'label', type: 'nominal' }, color }
      }
    ]
  };
}

const TIMES = [0.5, 1, 2, 5, 10, 20, 40];
const BAR = 19;

/**
 * Bars of how many times faster candidates are than a peer, which is the line at 1.
 *
 * @param {import('../support/report').Report} report
 * @param {{ row: string, series: string, times: [number, number, number] }[]} values quartiles, or the median alone
 *   three times
 * @param {{ title: string, explanation: string, colors: Record<string, string> }} options by series, in their order
 * @returns {object} of Vega-Lite
 */
function timesChart(report, values, { title, explanation, colors }) {
  const series = Object.keys(colors);
  const points = values.map(({ row, series: name, times: [low, median, high] }) => {
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
  const x = (field) => ({ field, type: 'quantitative', scale: { type: 'log', domain, nice: false } });
  const rows = new Set(points.map(({ row }) => row)).size;
  const offset = series.length > 1 ? { yOffset: { field: 'series', type: 'nominal', scale: { domain: series } } } : {};
  return {
    title: titleOf(title, explanation, report),
    data: { values: points },
    width: WIDTH,
    height: points.length * BAR + rows * 5 + 150,
    autosize: { type: 'fit', contains: 'padding' },
    encoding: {
      y: { field: 'row', type: 'nominal', sort: null, axis: { title: null, ticks: false, labelPadding: 6 } },
      ...offset
    },
    layer: [
      {
        mark: { type: 'bar', height: { band: 0.7 } },
        encoding: {
          x: { ...x('one'), axis: { title: null, values: TIMES.filter((value) => value <= most), format: '~g' } },
          x2: { field: 'median' },
          color: {
            field: 'series',
            type: 'nominal',
            legend: null,
            scale: { domain: series, range: Object.values(colors) }
          }
        }
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

/** @returns {object[]} quartiles of the rows that have a name in the chart */
const timesOf = ({ rows }, own, peer, label) =>
  rows
    .map((row) => ({ row: label(row), series: own, times: findTimes(row, own, peer) }))
    .filter(({ row, times }) => row !== null && times !== undefined);

/** The rows in which `onFrame` is compared with work of another kind are in the table alone. */
function labelDecode({ name }) {
  if (name.startsWith('frames')) return null;
  return name.replace(', one a chunk', ' alone').replace(', byte by byte', ', by bytes');
}

/** Callbacks change little: they are in the table alone. */
function labelWs({ name }) {
  if (name.endsWith('callbacks')) return null;
  return name.replace(/^echo (.*), deflate$/, 'deflate $1').replace('broadcast', 'to 300:');
}

/** @returns {object[]} framemask beside ws, and Bun, whose ratio is that of the medians */
function echoValues(report) {
  const own = timesOf(report, 'framemask', 'ws', ({ name }) => name);
  return own.flatMap((value) => {
    const { Bun, ws } = report.rows.find(({ name }) => name === value.row).medians;
    if (Bun === undefined) return [value];
    const ratio = Bun.rate / ws.rate;
    return [value, { row: value.row, series: 'Bun', times: [ratio, ratio, ratio] }];
  });
}

const { own, peer, other, kernels } = COLORS;
const LINES = [
  ['framemask', 'framemask', own],
  ['bufferutil', 'bufferutil', peer]
];
const QUARTILES = 'Logarithmic; longer is better. The line at 1 is ws with bufferutil. Thin lines are quartiles.';

/** @type {Record<string, { part: string, alt: string, spec: (report: object) => object }>} by the name of the file */
const CHARTS = {
  unmask: {
    part: 'masking',
    alt: 'unmask: GB/s of framemask and bufferutil by payload length',
    spec: (report) => linesChart(report, 'unmask', LINES, 'unmask, in place')
  },
  mask: {
    part: 'masking',
    alt: 'mask: GB/s of framemask and bufferutil by payload length',
    spec: (report) => linesChart(report, 'mask', LINES, 'mask, into another buffer')
  },
  kernels: {
    part: 'masking',
    alt: "unmask: GB/s of framemask's kernels by payload length",
    spec(report) {
      const { kernel } = report.machine;
      const others = ['avx2', 'neon', 'sse2', 'scalar', 'js'].filter((name) => name !== kernel);
      const named = others.map((name) => [`framemask ${name}`, name === 'js' ? 'JavaScript' : name]);
      const known = named.filter(([name]) => name in report.rows[0].medians);
      const series = known.map(([name, label], i) => [name, label, kernels[i]]);
      return linesChart(
        report,
        'unmask',
        [['framemask', kernel, own], ...series],
        "unmask with each of framemask's kernels"
      );
    }
  },
  decode: {
    part: 'decode',
    alt: 'decode: times faster than ws, by kind of message',
    spec: (report) =>
      timesChart(report, timesOf(report, 'framemask', 'ws', labelDecode), {
        title: "decode: times faster than ws's Receiver",
        explanation: QUARTILES,
        colors: { framemask: own }
      })
  },
  echo: {
    part: 'echo',
    alt: 'echo: times as many messages a second as ws, of framemask and Bun',
    spec: (report) =>
      timesChart(report, echoValues(report), {
        title: 'echo: messages a second, times those of ws',
        explanation: `Ten connections over loopback, a batch at once. ${QUARTILES}`,
        colors: { framemask: own, Bun: other }
      })
  },
  ws: {
    part: 'ws',
    alt: 'framemask/ws: times as many messages a second as ws',
    spec: (report) =>
      timesChart(report, timesOf(report, 'framemask/ws', 'ws', labelWs), {
        title: 'framemask/ws: messages/s, times those of ws',
        explanation: QUARTILES,
        colors: { 'framemask/ws': own }
      })
  }
};

/** @returns {object} a configuration of Vega-Lite, in the colors of the light theme */
function config() {
  const labels = { labelColor: COLORS.text, labelFontSize: FONT_SIZE, labelLimit: 200 };
  return {
    background: COLORS.background,
    // The picture has an alt text.
    aria: false,
    font: FONT,
    padding: 6,
    view: { stroke: null },
    axis: { ...labels, gridColor: COLORS.grid, domainColor: COLORS.quiet, tickColor: COLORS.quiet },
    title: {
      color: COLORS.text,
      fontSize: 15,
      subtitleColor: COLORS.quiet,
      subtitleFontSize: FONT_SIZE,
      subtitleLineHeight: 17,
      subtitlePadding: 6
    },
    text: { color: COLORS.text, fontSize: FONT_SIZE }
  };
}

/**
 * Draws a chart without a browser. The same report gives the same bytes on every machine: text is measured by the
 * number of its characters.
 *
 * @param {object} spec of Vega-Lite
 * @returns {Promise<string>} SVG in the colors of the light theme
 */
async function drawSvg(spec) {
  const vega = await import('vega');
  const { compile } = await import('vega-lite');
  vega.textMetrics.width = (item, text) =>
    Math.ceil(String(text ?? item.text ?? '').length * (item.fontSize ?? FONT_SIZE) * CHARACTER);
  const view = new vega.View(vega.parse(compile({ ...spec, config: config() }).spec), {
    renderer: 'none',
    logLevel: vega.Warn
  });
  const svg = await view.toSVG();
  view.finalize();
  return `${svg}\n`;
}

/** @param {string} svg in the colors of the light theme @returns {string} the same in those of the dark one */
function darken(svg) {
  const { light, dark } = THEMES;
  const flatten = (theme) => Object.values(theme).flat();
  const colors = new Map(flatten(light).map((color, i) => [color, flatten(dark)[i]]));
  return svg.replace(/#[\da-f]{6}/g, (color) => colors.get(color) ?? color);
}

/**
 * @param {Record<string, import('../support/report').Report>} reports by part; charts of other parts are left out
 * @returns {Promise<Record<string, string>>} SVG by the name of its file
 */
async function drawCharts(reports) {
  const files = {};
  for (const [name, { part, spec }] of Object.entries(CHARTS)) {
    if (reports[part] === undefined) continue;
    const light = await drawSvg(spec(reports[part]));
    files[`${name}-light.svg`] = light;
    files[`${name}-dark.svg`] = darken(light);
  }
  return files;
}

/**
 * @param {string} name in CHARTS
 * @param {string} folder of the charts, from the page
 * @returns {string} the chart for a light and for a dark page
 */
function picture(name, folder) {
  return [
    '<picture>',
    `<source media="(prefers-color-scheme: dark)" srcset="${folder}${name}-dark.svg">`,
    `<img width="${SHOWN}" alt="${CHARTS[name].alt}" src="${folder}${name}-light.svg">`,
    '</picture>'
  ].join('\n');
}

module.exports = { CHARTS, drawCharts, picture };
