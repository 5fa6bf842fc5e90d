'use strict';

const { createServer } = require('../../examples/http2');
const { startChromium } = require('../support/chromium');
const certificate = require('../support/certificate');
const { installDebian } = require('../../scripts/support/fetch');
const { listen } = require('../support/free-port');
const { differences } = require('./support/results');

/** Opens WebSockets of a page, sends messages both ways, and closes them; returns what each saw. */
async function inPage({ count, lengths }) {
  const open = async (i) => {
    const socket = new WebSocket(`wss://${location.host}/${i}`);
    socket.binaryType = 'arraybuffer';
    const messages = [];
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error('a WebSocket failed'));
    });
    for (const length of lengths) {
      socket.send('é'.repeat(length));
      const { data } = await new Promise((resolve) => (socket.onmessage = resolve));
      messages.push(data.startsWith('é'.repeat(length)) && data.slice(length));
    }
    const closed = new Promise((resolve) => (socket.onclose = resolve));
    socket.close(4000, 'bye');
    const { code, reason, wasClean } = await closed;
    return { messages, code, reason, wasClean };
  };
  return Promise.all(Array.from({ length: count }, (_, i) => open(i)));
}

/** @returns {Promise<{ browser: object, page: object }>} a page that takes any certificate */
async function openChromium({ install, progress }) {
  const browser = await startChromium({ chromium: require('playwright-core').chromium, install, progress });
  return { browser, page: await browser.newPage({ ignoreHTTPSErrors: true }) };
}

/** The same in Firefox; puppeteer's page has the methods that are used here. */
async function openFirefox({ install, progress }) {
  if (install) installDebian(['firefox-esr'], progress);
  const browser = await require('puppeteer-core').launch({
    browser: 'firefox',
    executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr',
    acceptInsecureCerts: true
  });
  return { browser, page: await browser.newPage() };
}

module.exports = {
  summary: "Chromium's or Firefox's WebSockets over HTTP/2 with TLS, to examples/http2.js",
  details: `64 WebSockets of a page on one connection: text up to 100,000 characters, closing with a code, a reload of the page, and the
end of the server.`,
  options: {
    install: { text: 'have apt-get install the browser where it is missing' },
    firefox: { text: 'in Firefox (the environment variable FIREFOX, or firefox-esr)' }
  },
  packages: true,

  async run({ install, firefox }, { results, progress }) {
    const server = createServer(certificate);
    const sessions = new Set();
    server.on('session', (session) => sessions.add(session));
    const url = `https://127.0.0.1:${await listen(server)}/`;
    const { browser, page } = await (firefox ? openFirefox : openChromium)({ install, progress });
    try {
      for (const time of ['load', 'reload']) {
        await results.add(`the page of the example, ${time}`, async () => {
          await page.goto(url);
          await page.waitForFunction(() => document.querySelector('pre').textContent.trim().split('\n').length === 8);
          const text = await page.evaluate(() => document.querySelector('pre').textContent);
          const lines = text.trim().split('\n');
          return lines.filter((line) => !line.endsWith('over HTTP/2.0'));
        });
      }
      await results.add('64 WebSockets on one connection', async () => {
        const lengths = [0, 1, 1000, 100_000];
        const seen = await page.evaluate(inPage, { count: 64, lengths });
        const messages = lengths.map(() => ' over HTTP/2.0');
        const expected = { messages, code: 4000, reason: 'bye', wasClean: true };
        const faults = seen.flatMap((one) => differences(one, expected));
        return sessions.size === 1 ? faults : [...faults, `${sessions.size} sessions`];
      });
      await results.add('the end of the session', async () => {
        const closed = page.evaluate(
          () =>
            new Promise((resolve) => {
              const socket = new WebSocket(`wss://${location.host}`);
              socket.onopen = () => (document.title = 'open');
              socket.onclose = ({ code }) => resolve(code);
            })
        );
        await page.waitForFunction(() => document.title === 'open');
        for (const session of sessions) session.destroy();
        return differences(await closed, 1006);
      });
    } finally {
      await browser.close();
      server.close();
    }
  }
};
