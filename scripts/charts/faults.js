'use strict';

// What makes a chart hard to read, measured by the browser that shows it.

/** Pixels; the size that a chart is drawn with is 12. */
const SMALLEST_TEXT = 11;
/** WCAG 2.2, success criterion 1.4.3. */
const LEAST_CONTRAST = 4.5;
/** How much of a text another one may cover: boxes are higher than letters. */
const MOST_OVERLAP = 0.15;
/** Below this a chart is empty, or has lost its labels. */
const FEWEST_TEXTS = 12;

/**
 * @param {import('playwright-core').Page} page with Markdown as HTML
 * @param {'light' | 'dark'} mode
 * @param {string[]} charts that the page must have, in this order
 * @returns {Promise<string[]>}
 */
async function findPageFaults(page, mode, charts) {
  const pictures = await page.evaluate(async () => {
    const images = [...document.querySelectorAll('picture img')];
    await Promise.all(images.map((image) => image.decode().catch(() => {})));
    return images.map((image) => ({
      file: image.currentSrc.split('/').at(-1),
      alt: image.alt,
      natural: image.naturalWidth,
      shown: image.clientWidth
    }));
  });
  const faults = [];
  const files = pictures.map(({ file }) => file);
  const wanted = charts.map((name) => `${name}-${mode}.svg`);
  if (files.join() !== wanted.join()) faults.push(`shows ${files.join(', ')} instead of ${wanted.join(', ')}`);
  for (const { file, alt, natural, shown } of pictures) {
    if (natural === 0) faults.push(`${file} does not load`);
    else if (shown < natural) faults.push(`${file} is ${natural} px wide, but shown with ${shown} px`);
    if (alt === '') faults.push(`${file} has no alt text`);
  }
  return faults;
}

/**
 * Runs in the browser.
 *
 * @returns {{ width: number, height: number, background: string, texts: object[] }}
 */
function measureTexts() {
  const svg = document.documentElement;
  const texts = [...document.querySelectorAll('text')]
    .filter((text) => text.textContent.trim() !== '' && getComputedStyle(text).opacity !== '0')
    .map((text) => {
      const { left, top, right, bottom } = text.getBoundingClientRect();
      const { fontSize, fill } = getComputedStyle(text);
      const { c, d } = text.getScreenCTM();
      const scale = Math.hypot(c, d);
      return { text: text.textContent, size: Number.parseFloat(fontSize) * scale, fill, left, top, right, bottom };
    });
  const background = getComputedStyle(document.querySelector('rect')).fill;
  return { width: svg.width.baseVal.value, height: svg.height.baseVal.value, background, texts };
}

/** @param {string} color such as `rgb(1, 2, 3)` @returns {number} relative luminance, as WCAG defines it */
function luminance(color) {
  const [red, green, blue] = color.match(/\d+/g).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** @returns {number} how much of the smaller text the other one covers */
function overlap(one, other) {
  const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  if (width <= 0 || height <= 0) return 0;
  const area = ({ left, top, right, bottom }) => (right - left) * (bottom - top);
  return (width * height) / Math.min(area(one), area(other));
}

/**
 * @param {import('playwright-core').Page} page with an SVG
 * @returns {Promise<string[]>}
 */
async function findChartFaults(page) {
  const { width, height, background, texts } = await page.evaluate(measureTexts);
  const faults = [];
  if (texts.length < FEWEST_TEXTS) faults.push(`has ${texts.length} texts only`);
  for (const [i, text] of texts.entries()) {
    const { left, top, right, bottom } = text;
    if (left < 0 || top < 0 || right > width || bottom > height) faults.push(`"${text.text}" is clipped`);
    if (text.size < SMALLEST_TEXT) faults.push(`"${text.text}" has ${text.size.toFixed(1)} px`);
    const ratio = contrast(text.fill, background);
    if (ratio < LEAST_CONTRAST) faults.push(`"${text.text}" has a contrast of ${ratio.toFixed(1)}`);
    const covered = texts.slice(i + 1).find((other) => overlap(text, other) > MOST_OVERLAP);
    if (covered !== undefined) faults.push(`"${text.text}" is on top of "${covered.text}"`);
  }
  return faults;
}

module.exports = { findChartFaults, findPageFaults };
