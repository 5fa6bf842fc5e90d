'use strict';

const { echoChart } = require('./echo');
const { maskingChart } = require('./masking');
const { CHARACTER, FONT_SIZE, THEMES, configOf } = require('./theme');
const { timesChart } = require('./times');

const QUARTILES = 'Longer is better; the line at 1 is ws with bufferutil. Thin lines are quartiles over the rounds.';

/** @param {string} name of a row of decode.js @returns {string} */
function labelDecode(name) {
  return name
    .replace(/^text (\d+ B)$/, 'text of $1, as strings')
    .replace(/^binary (\d+ B)$/, 'binary of $1, as Buffers')
    .replace(/^frames (\d+ B)$/, 'frames of $1, by onFrame')
    .replace('1,000 messages', '1,000 messages of 0 to 64 KiB');
}

/** @type {Record<string, { part: string, alt: string, spec: Function }>} by the name of the file */
const CHARTS = {
  unmask: {
    part: 'masking',
    alt: 'unmask: GB/s by payload length',
    spec: (report, theme) => maskingChart(report, 'unmask', theme)
  },
  mask: {
    part: 'masking',
    alt: 'mask: GB/s by payload length',
    spec: (report, theme) => maskingChart(report, 'mask', theme)
  },
  decode: {
    part: 'decode',
    alt: 'decode: times faster than ws, by kind of message',
    spec(report, theme) {
      const title = "decode: times faster than ws's Receiver, by kind of message";
      const explanation = `${QUARTILES} Points are framemask in JavaScript alone.`;
      const options = { title, explanation, own: 'framemask', peer: 'ws', js: 'framemask js', label: labelDecode };
      return timesChart(report, options, theme);
    }
  },
  echo: { part: 'echo', alt: 'echo: messages a second', spec: echoChart },
  ws: {
    part: 'ws',
    alt: 'framemask/ws: times faster than ws',
    spec(report, theme) {
      const title = 'framemask/ws: messages a second, times those of ws';
      const options = { title, explanation: QUARTILES, own: 'framemask/ws', peer: 'ws', label: (name) => name };
      return timesChart(report, options, theme);
    }
  }
};

/**
 * Draws a chart without a browser. The same report gives the same bytes on every machine: text is measured by the
 * number of its characters.
 *
 * @param {object} spec of Vega-Lite
 * @param {import('./theme').Theme} theme
 * @returns {Promise<string>} SVG
 */
async function drawSvg(spec, theme) {
  const vega = await import('vega');
  const { compile } = await import('vega-lite');
  vega.textMetrics.width = (item, text) =>
    Math.ceil(String(text ?? item.text ?? '').length * (item.fontSize ?? FONT_SIZE) * CHARACTER);
  const { spec: compiled } = compile({ ...spec, config: configOf(theme) });
  const view = new vega.View(vega.parse(compiled), { renderer: 'none', logLevel: vega.Warn });
  const svg = await view.toSVG();
  view.finalize();
  return `${svg}\n`;
}

/**
 * @param {Record<string, import('../support/report').Report>} reports by part
 * @returns {Promise<Record<string, string>>} SVG by the path of its file
 */
async function drawCharts(reports) {
  const files = {};
  for (const [name, { part, spec }] of Object.entries(CHARTS)) {
    const light = await drawSvg(spec(reports[part], THEMES.light), THEMES.light);
    files[`docs/charts/${name}-light.svg`] = light;
    files[`docs/charts/${name}-dark.svg`] = darken(light);
  }
  return files;
}

/** @param {string} svg in the colors of the light theme @returns {string} the same in those of the dark one */
function darken(svg) {
  const { light, dark } = THEMES;
  const pairs = Object.entries(light).flatMap(([role, color]) =>
    Array.isArray(color) ? color.map((value, i) => [value, dark[role][i]]) : [[color, dark[role]]]
  );
  const colors = new Map(pairs);
  if (colors.size < pairs.length) throw new Error('two roles of the light theme have the same color');
  return svg.replace(/#[\da-f]{6}/g, (color) => colors.get(color) ?? color);
}

module.exports = { CHARTS, drawCharts };
