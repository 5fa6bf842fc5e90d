'use strict';

// An inspector and a page of Chromium that shows it, for one test.

const assert = require('node:assert/strict');
const path = require('node:path');
const { Inspector } = require('../../inspector/lib/inspector');

const SCREENSHOTS = path.join(__dirname, '../../.cache/inspector');
const TIMEOUT = 20_000;

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

  /** Opens the page, and measures its long tasks from then on. */
  async open() {
    await this.page.addInitScript(() => {
      globalThis.longTasks = [];
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) globalThis.longTasks.push(entry.duration);
      }).observe({ type: 'longtask', buffered: true });
    });
    await this.page.goto(this.url);
    await this.page.locator('#live').evaluate((input) => {
      return new Promise((resolve) => {
        const wait = () => (input.value === '' ? setTimeout(wait, 10) : resolve());
        wait();
      });
    });
  }

  /** Unfolds what one opens sources with: it folds when a source is shown. */
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

  /** Waits until the status says how many frames there are, such as `5 frames`. */
  async waitForFrames(text) {
    await this.page.waitForFunction(
      (wanted) => ` ${document.getElementById('status').textContent}`.endsWith(` ${wanted}`),
      text
    );
  }

  /** The rows that are drawn, as objects of their cells. */
  rows() {
    return this.page
      .locator('#list .row:visible')
      .evaluateAll((rows) =>
        rows
          .sort((a, b) => Number(a.dataset.index) - Number(b.dataset.index))
          .map((row) => Object.fromEntries([...row.children].map((cell) => [cell.className, cell.textContent])))
      );
  }

  /**
   * Sets filters of the list, and leaves the others.
   *
   * @param {object} filters
   * @param {number[] | null} [filters.opcodes] only these, null for all
   * @param {number} [filters.connection] counts from 0; -1 for all
   * @param {'client' | 'server' | 'both'} [filters.sender]
   */
  async filter({ opcodes, connection, sender }) {
    if (opcodes !== undefined) {
      await this.page.locator('#opcodes input').evaluateAll((boxes, wanted) => {
        for (const box of boxes) if (box.checked !== (wanted?.includes(Number(box.value)) ?? true)) box.click();
      }, opcodes);
    }
    if (connection !== undefined) await this.page.selectOption('#connection', String(connection));
    if (sender !== undefined) await this.page.selectOption('#sender', { label: sender });
    await this.drawn();
  }

  /** Selects a row that is in view, and waits for its details. */
  async select(index) {
    await this.page.click(`#list .row[data-index="${index}"]:visible`);
    await this.waitForDetail(index);
  }

  async waitForDetail(index) {
    await this.page.waitForSelector(`#detail[data-index="${index}"]`);
  }

  /** The text of an element, as a reader sees it. */
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

  /** Waits until the page has drawn what it knows. */
  async drawn() {
    await this.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  }

  /** @param {import('playwright-core').PageScreenshotOptions} [options] */
  async screenshot(name, options) {
    await this.drawn();
    await this.page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), ...options });
  }

  /** Fails if the page is wider than its window. */
  async checkWidth() {
    const { content, window } = await this.page.evaluate(() => ({
      content: document.documentElement.scrollWidth,
      window: document.documentElement.clientWidth
    }));
    assert.ok(content <= window, `the page is ${content} px wide, its window ${window}`);
  }

  /** Fails if the page has asked another host, or reported an error. */
  check() {
    const { host } = new URL(this.url);
    const elsewhere = this.requests.filter((url) => !/^(data|blob):/.test(url) && new URL(url).host !== host);
    assert.deepEqual(elsewhere, [], 'requests to elsewhere');
    assert.deepEqual(this.errors, [], 'errors in the page');
  }
}

/**
 * Runs a test with an inspector of its own and a page that is open.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {(screen: Screen, inspector: Inspector) => Promise<unknown>} test
 * @param {import('playwright-core').BrowserContextOptions} [options]
 */
async function withScreen(browser, test, options = {}) {
  const inspector = new Inspector();
  const url = await inspector.listen(0);
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  try {
    const screen = new Screen(await context.newPage(), url);
    await screen.open();
    const result = await test(screen, inspector);
    screen.check();
    return result;
  } finally {
    await context.close();
    await inspector.close();
  }
}

module.exports = { SCREENSHOTS, Screen, withScreen };
