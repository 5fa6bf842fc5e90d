'use strict';

// docs/figures.md and README.md show the committed results, and their charts can be read in a real
// Chromium: on a phone and on a large screen, by people who prefer light and by those who prefer
// dark pages. Screenshots are written to .cache/charts/.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { after, before, test } = require('node:test');
const { chromium } = require('playwright-core');
const { CHARTS } = require('../charts/draw');
const { startChromium } = require('../../test/support/chromium');

const ROOT = path.join(__dirname, '../..');
const SHOTS = path.join(ROOT, '.cache/charts');

/** The pages, and the charts that they have. */
const PAGES = {
  'README.md': ['unmask', 'echo'],
  'docs/figures.md': ['unmask', 'kernels', 'mask', 'decode', 'echo', 'ws']
};
/** Pixels. */
const SCREENS = [360, 1280];
const SMALLEST_TEXT = 11;
/** WCAG 2.2, success criterion 1.4.3. */
const LEAST_CONTRAST = 4.5;
/** Of the height of a text: boxes are higher than their letters. */
const MOST_OVERLAP = 0.2;
/** Below this a chart is empty, or has lost its labels. */
const FEWEST_TEXTS = 12;

/** The parts of GitHub's styles that matter here. */
const STYLE = `
  :root { color-scheme: light dark; }
  body { max-width: 830px; margin: 16px auto; padding: 0 16px; font: 16px/1.5 Helvetica, Arial, "DejaVu Sans", sans-serif;
    color: light-dark(#1f2328, #f0f6fc); background: light-dark(#ffffff, #0d1117); }
  img { max-width: 100%; }
  table { display: block; max-width: 100%; overflow: auto; }
  pre { overflow: auto; }`;

let browser;

before(async () => {
  browser = await startChromium({ chromium, install: process.env.CI === 'true' });
});

after(() => browser?.close());

async function visit(file, options, look) {
  const page = await browser.newPage(options);
  try {
    await page.goto(pathToFileURL(file).href, { waitUntil: 'load' });
    return await look(page);
  } finally {
    await page.close();
  }
}

/** @returns {Promise<string>} the file of a page as HTML */
async function writeHtml(name) {
  const { marked } = await import('marked');
  const file = path.join(ROOT, name);
  const base = pathToFileURL(`${path.dirname(file)}${path.sep}`).href;
  const html = path.join(SHOTS, `${path.basename(name, '.md')}.html`);
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><base href="${base}">`;
  const body = await marked.parse(fs.readFileSync(file, 'utf8'), { gfm: true });
  fs.mkdirSync(SHOTS, { recursive: true });
  fs.writeFileSync(html, `<!doctype html><html lang="en">${head}<style>${STYLE}</style><body>${body}</body></html>`);
  return html;
}

/** Runs in the browser. @returns {Promise<object[]>} each chart as it is shown */
async function findPictures() {
  const images = [...document.querySelectorAll('picture img')];
  await Promise.all(images.map((image) => image.decode().catch(() => {})));
  return images.map(({ currentSrc, alt, naturalWidth, clientWidth }) => {
    return { file: currentSrc.split('/').at(-1), alt, natural: naturalWidth, shown: clientWidth };
  });
}

/** Runs in the browser. @returns {{ background: string, texts: object[] }} of a chart */
function findTexts() {
  const { width, height } = document.documentElement;
  const texts = [...document.querySelectorAll('text')]
    .filter((text) => text.textContent.trim() !== '' && getComputedStyle(text).opacity !== '0')
    .map((text) => {
      const { left, top, right, bottom } = text.getBoundingClientRect();
      const { fontSize, fill } = getComputedStyle(text);
      const { c, d } = text.getScreenCTM();
      const size = Number.parseFloat(fontSize) * Math.hypot(c, d);
      const clipped = left < 0 || top < 0 || right > width.baseVal.value || bottom > height.baseVal.value;
      return { text: text.textContent, size, fill, left, top, right, bottom, clipped };
    });
  return { background: getComputedStyle(document.querySelector('rect')).fill, texts };
}

/** @param {string} color such as `rgb(1, 2, 3)` @returns {number} relative luminance (WCAG) */
function luminance(color) {
  const [red, green, blue] = color.match(/\d+/g).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function covers(one, other) {
  const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  return width > 0 && height > MOST_OVERLAP * (one.bottom - one.top);
}

/** @returns {string[]} what makes a chart hard to read */
function findFaults({ background, texts }) {
  const faults = texts.length < FEWEST_TEXTS ? [`${texts.length} texts only`] : [];
  for (const [i, text] of texts.entries()) {
    if (text.clipped) faults.push(`"${text.text}" is clipped`);
    const [low, high] = [luminance(text.fill), luminance(background)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < LEAST_CONTRAST) faults.push(`"${text.text}" has a contrast of ${ratio.toFixed(1)}`);
    const covered = texts.slice(i + 1).find((other) => covers(text, other));
    if (covered !== undefined) faults.push(`"${text.text}" is on top of "${covered.text}"`);
  }
  return faults;
}

test('docs/ and README.md show the committed results', () => {
  const { status, stderr } = spawnSync(process.execPath, [path.join(__dirname, '../all.js'), '--check']);
  assert.equal(status, 0, `${stderr}`);
});

/** The size of the smallest text of each chart. */
const sizes = {};

for (const mode of ['light', 'dark']) {
  for (const name of Object.keys(CHARTS).map((chart) => `${chart}-${mode}.svg`)) {
    test(`${name} can be read`, async () => {
      const chart = await visit(path.join(ROOT, 'docs/charts', name), {}, (page) => page.evaluate(findTexts));
      sizes[name] = Math.min(...chart.texts.map(({ size }) => size));
      assert.deepEqual(findFaults(chart), []);
    });
  }
  for (const [name, charts] of Object.entries(PAGES)) {
    for (const width of SCREENS) {
      test(`${name}, ${mode}, ${width} px wide, shows its charts large enough`, async () => {
        const options = { viewport: { width, height: 900 }, colorScheme: mode };
        const shot = path.join(SHOTS, `${path.basename(name, '.md')}-${mode}-${width}.png`);
        const pictures = await visit(await writeHtml(name), options, async (page) => {
          await page.screenshot({ path: shot, fullPage: true });
          return page.evaluate(findPictures);
        });
        const wanted = charts.map((chart) => `${chart}-${mode}.svg`);
        const found = pictures.map(({ file }) => file);
        assert.deepEqual(found, wanted);
        for (const { file, alt, natural, shown } of pictures) {
          assert.notEqual(alt, '', file);
          const size = (sizes[file] * shown) / natural;
          assert.ok(size >= SMALLEST_TEXT, `${file} has texts of ${size.toFixed(1)} px`);
        }
      });
    }
  }
}
