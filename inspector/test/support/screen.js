'use strict';

// An inspector, and a page of Chromium that shows it, for each test.

const assert = require('node:assert/strict');
const path = require('node:path');
const { after, test } = require('node:test');
const { chromium } = require('playwright-core');
const { Inspector } = require('../../lib/inspector');
const { startChromium } = require('../../../test/support/chromium');

const SCREENSHOTS = path.join(__dirname, '../../../.cache/inspector');
const TIMEOUT = 30_000;

/** What a test does on the page, by what a reader sees. */
class Screen {
  constructor(page, url) {
    this.page = page;
    this.url = url;
    /** The URLs that the page has requested, and what went wrong in it. */
    this.requests = [];
    this.errors = [];
    page.setDefaultTimeout(TIMEOUT);
    page.on('request', (request) => this.requests.push(request.url()));
    page.on('websocket', (socket) => this.requests.push(socket.url()));
    page.on('pageerror', (error) => this.errors.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') this.errors.push(message.text());
    });
    page.on('dialog', (dialog) => {
      this.errors.push(`a dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
  }

  async open() {
    await this.page.goto(this.url);
    await this.page.waitForFunction(() => document.getElementById('live').value !== '');
  }

  /** Unfolds the sources, which fold when one is shown. */
  async openSources() {
    const isOpen = await this.page.locator('#sources').evaluate(({ open }) => open);
    if (!isOpen) await this.page.click('#sources > summary');
  }

  async clear() {
    await this.openSources();
    await this.page.click('#clear');
    await this.waitForFrames('0 frames');
  }

  async paste(text) {
    await this.openSources();
    await this.page.fill('#pasted', text);
    await this.page.click('#paste button');
  }

  /** Opens files: their contents by their names. */
  async openFiles(files) {
    const mimeType = 'application/octet-stream';
    const list = Object.entries(files).map(([name, buffer]) => ({ name, mimeType, buffer }));
    await this.page.setInputFiles('#files', list);
  }

  async openSample() {
    await this.openSources();
    await this.page.click('#sample');
    await this.waitForFrames('sample: 25 frames');
  }

  /** @returns {Promise<string>} the text that a button copies */
  async copied(selector) {
    await this.page.click(selector);
    await this.page.locator('button:visible', { hasText: 'Copied' }).waitFor();
    await this.page.mouse.move(0, 0); // the button says so until then
    return this.page.evaluate(() => navigator.clipboard.readText());
  }

  /** Waits until the status ends with the number of frames, such as `5 frames`. */
  async waitForFrames(text) {
    await this.page.waitForFunction(
      (wanted) => ` ${document.getElementById('status').textContent}`.endsWith(` ${wanted}`),
      text
    );
    // The list is drawn in an animation frame after the status.
    await this.drawn();
  }

  /** @returns {Promise<object[]>} the rows that are drawn: their classes, and their cells */
  rows() {
    return this.page.locator('#list .row:visible').evaluateAll((rows) =>
      rows
        .sort((a, b) => Number(a.dataset.index) - Number(b.dataset.index))
        .map((row) => ({
          classes: row.className,
          isSelected: row.ariaSelected === 'true',
          ...Object.fromEntries([...row.children].map((cell) => [cell.className, cell.textContent]))
        }))
    );
  }

  /** @returns {Promise<string[]>} one cell of each row that is drawn */
  async column(name) {
    return (await this.rows()).map((row) => row[name]);
  }

  /** Sets filters of the list, and leaves the others; null stands for all opcodes. */
  async filter({ opcodes, connection, sender }) {
    if (opcodes !== undefined) {
      await this.page.locator('#opcodes input').evaluateAll((boxes, wanted) => {
        for (const box of boxes) if (box.checked !== (wanted?.includes(Number(box.value)) ?? true)) box.click();
      }, opcodes);
    }
    await this.openFilters();
    if (connection !== undefined) await this.page.selectOption('#connection', String(connection));
    if (sender !== undefined) await this.page.selectOption('#sender', { label: sender });
    await this.drawn();
  }

  /** Shows the fragments of the messages that are in view. */
  async unfold() {
    const folded = this.page.locator('#list .fold:visible', { hasText: '▸' });
    while ((await folded.count()) > 0) {
      await folded.first().click();
      await this.drawn();
    }
  }

  async openFilters() {
    if (await this.page.isHidden('#sender')) await this.page.click('#filters > summary');
  }

  /** Selects a row that is in view, and waits for its details. */
  async select(index) {
    await this.page.click(`#list .row[data-index="${index}"]:visible`);
    await this.waitForDetail(index);
  }

  async waitForDetail(index) {
    await this.page.waitForSelector(`#detail[data-index="${index}"]`);
  }

  /** @returns {Promise<string>} the text of an element, as a reader sees it */
  async text(selector) {
    const [text] = await this.page.locator(selector).allInnerTexts();
    return text;
  }

  detail() {
    return this.text('#detail');
  }

  verdict() {
    return this.text('#detail .verdict');
  }

  /** Waits until the page has drawn its state. */
  async drawn() {
    await this.page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    );
  }

  /** Fails if the page is wider than its window. */
  async checkWidth() {
    const tooWide = await this.page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return Math.max(scrollWidth - clientWidth, 0);
    });
    assert.equal(tooWide, 0);
  }

  /** Fails if the contrast of a text that is shown is below 4.5 (WCAG 2.2, 1.4.3, level AA). */
  async checkContrast() {
    const low = await this.page.evaluate(() => {
      const context = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
      const luminanceOf = (colors) => {
        context.clearRect(0, 0, 1, 1);
        for (const color of colors) {
          context.fillStyle = color;
          context.fillRect(0, 0, 1, 1);
        }
        const parts = [...context.getImageData(0, 0, 1, 1).data].map((value) => value / 255);
        const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const isText = ({ tagName, childNodes }) =>
        /^(INPUT|TEXTAREA|SELECT)$/.test(tagName) ||
        [...childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      return [...document.body.querySelectorAll('*')].filter(isText).flatMap((each) => {
        if (!each.checkVisibility() || each.disabled) return [];
        const backs = [];
        for (let at = each; at !== null; at = at.parentElement) backs.unshift(getComputedStyle(at).backgroundColor);
        const values = [luminanceOf(backs), luminanceOf([...backs, getComputedStyle(each).color])];
        const ratio = (Math.max(...values) + 0.05) / (Math.min(...values) + 0.05);
        return ratio < 4.5 ? [`${each.tagName} ${each.className} ${each.textContent.slice(0, 30)}: ${ratio}`] : [];
      });
    });
    assert.deepEqual(low, []);
  }

  /** Fails if the page has asked another host, or reported an error. */
  check() {
    const { host } = new URL(this.url);
    const elsewhere = this.requests.filter((url) => !/^(data|blob):/.test(url) && new URL(url).host !== host);
    assert.deepEqual({ elsewhere, errors: this.errors }, { elsewhere: [], errors: [] });
  }
}

let browser = null;
after(async () => (await browser)?.close());

/**
 * Opens a page in a context of its own, and has it checked after the test; `name` is that of a
 * screenshot at the end, also of a test that fails.
 */
async function openScreen(url, use, { name, ...options } = {}) {
  browser ??= startChromium({ chromium });
  const viewport = { width: 1280, height: 800 };
  const permissions = ['clipboard-read', 'clipboard-write'];
  const context = await (await browser).newContext({ viewport, permissions, ...options });
  try {
    const screen = new Screen(await context.newPage(), url);
    await screen.open();
    await use(screen).finally(() => screen.page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`) }));
    screen.check();
  } finally {
    await context.close();
  }
}

/** A test with an inspector of its own and a page that is open. */
function testScreen(name, run, options) {
  test(name, async () => {
    const inspector = new Inspector();
    const url = await inspector.listen(0);
    try {
      await openScreen(url, (screen) => run(screen, inspector), { name: name.replace(/\W+/g, '-'), ...options });
    } finally {
      await inspector.close();
    }
  });
}

module.exports = { openScreen, testScreen };
