'use strict';

// Renders README.md and docs/figures.md in a real Chromium, on a light and on a dark page, and checks that the charts
// can be read.

const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { parseArgs } = require('node:util');
const { CHARTS } = require('../benchmark/charts/draw');
const { findChartFaults, findPageFaults } = require('./charts/faults');
const { pageHtml } = require('./charts/page');
const { startChromium } = require('../test/support/chromium');
const { createProgress } = require('../test/support/report');

const ROOT = path.join(__dirname, '..');
const SHOTS = path.join(ROOT, '.cache', 'charts');

const USAGE = `usage: npm run test:charts [-- [--install] [--help]]

Renders README.md and docs/figures.md in a headless Chromium, as wide as GitHub shows a README, for people who prefer
light and for those who prefer dark pages. Each picture must load, in the colors of the page and not made smaller. In
each chart, no text may be clipped, smaller than 11 px, on top of another or too faint. Screenshots are written to
.cache/charts/. Takes about ten seconds.

  --install  let apt-get install Chromium, where it is missing
  --help     print this`;

/** The pages, and the charts that they have. */
const PAGES = { 'README.md': ['unmask', 'decode', 'echo'], 'docs/figures.md': Object.keys(CHARTS) };
const MODES = ['light', 'dark'];

/** @returns {Promise<string[]>} what is wrong with a page */
async function checkPage(browser, name, mode) {
  const page = await browser.newPage({ viewport: { width: 1000, height: 900 }, colorScheme: mode });
  try {
    const shot = path.join(SHOTS, `${path.basename(name, '.md')}-${mode}`);
    fs.writeFileSync(`${shot}.html`, await pageHtml(path.join(ROOT, name)));
    await page.goto(pathToFileURL(`${shot}.html`).href, { waitUntil: 'load' });
    const faults = await findPageFaults(page, mode, PAGES[name]);
    await page.screenshot({ path: `${shot}.png`, fullPage: true });
    return faults.map((fault) => `${name}, ${mode}: ${fault}`);
  } finally {
    await page.close();
  }
}

/** @returns {Promise<string[]>} what is wrong with a chart */
async function checkChart(browser, name) {
  const file = path.join(ROOT, 'docs/charts', `${name}.svg`);
  if (!fs.existsSync(file)) return [`${name}.svg is missing`];
  const page = await browser.newPage({ viewport: { width: 1000, height: 1200 } });
  try {
    await page.goto(pathToFileURL(file).href);
    return (await findChartFaults(page)).map((fault) => `${name}.svg: ${fault}`);
  } finally {
    await page.close();
  }
}

async function main() {
  const { values } = parseArgs({ options: { install: { type: 'boolean' }, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const progress = createProgress();
  fs.mkdirSync(SHOTS, { recursive: true });
  const browser = await startChromium({
    chromium: require('playwright-core').chromium,
    install: values.install,
    progress
  });
  const faults = [];
  try {
    for (const name of Object.keys(CHARTS)) {
      progress(`docs/charts/${name}`);
      for (const mode of MODES) faults.push(...(await checkChart(browser, `${name}-${mode}`)));
    }
    for (const name of Object.keys(PAGES)) {
      for (const mode of MODES) {
        progress(`${name}, ${mode}`);
        faults.push(...(await checkPage(browser, name, mode)));
      }
    }
  } finally {
    await browser.close();
  }
  for (const fault of faults) console.error(fault);
  progress(`${faults.length} faults; screenshots are in ${path.relative(ROOT, SHOTS)}/`);
  if (faults.length > 0) process.exitCode = 1;
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
