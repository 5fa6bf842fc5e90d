'use strict';

// The page of examples/rooms in a real Chromium: three pages, each from another process.

const { setTimeout: sleep } = require('node:timers/promises');
const { startChromium } = require('../../test/support/chromium');
const { startServers } = require('./chat');
const { PATIENCE, enter, read, say, status } = require('./chat-page');

const NAMES = ['Ada', 'Bob', 'Eve'];
/** Hostile, if a page made HTML of it. */
const HOSTILE = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>';

/** @returns {Promise<string[]>} faults: pages that do not show these lines, in this order */
async function expectLines(pages, lines) {
  const faults = [];
  for (const [i, page] of pages.entries()) {
    const end = performance.now() + PATIENCE;
    let shown = await read(page);
    while (shown.length < lines.length && performance.now() < end) {
      await sleep(20);
      shown = await read(page);
    }
    if (shown.join('\n') !== lines.join('\n')) {
      faults.push(`the page of ${NAMES[i]} shows ${JSON.stringify(shown)}, not ${JSON.stringify(lines)}`);
    }
  }
  return faults;
}

/**
 * @param {object} options
 * @param {boolean} options.install
 * @param {(line: string) => void} options.progress
 * @returns {Promise<string[]>} faults
 */
async function testPages({ install, progress }) {
  const { servers, stop } = await startServers('ws', { install, progress });
  let browser;
  try {
    browser = await startChromium({ chromium: require('playwright-core').chromium, install, progress });
    const faults = [];
    const pages = [];
    for (const [i, { port }] of servers.entries()) pages.push(await enter(browser, port, NAMES[i], 'tea', faults));
    const elsewhere = await enter(browser, servers[0].port, 'Zoe', 'coffee', faults);
    const lines = [];
    const talk = async (page, text) => {
      await say(page, text);
      lines.push(`${NAMES[pages.indexOf(page)]} ${text}`);
      faults.push(...(await expectLines(pages, lines)));
    };
    for (const page of pages) await talk(page, 'Καλημέρα');
    await talk(pages[1], HOSTILE);
    progress(`${pages.length} pages on ${servers.length} processes: ${lines.length} messages, one of them hostile`);

    await servers[2].stop('SIGKILL');
    await status(pages[2], 'Trying again');
    await say(pages[2], 'said while it was cut off');
    await say(pages[0], 'heard later');
    lines.push('Ada heard later');
    faults.push(...(await expectLines(pages.slice(0, 2), lines)));
    await servers[2].start();
    await status(pages[2], 'Connected');
    lines.push('Eve said while it was cut off');
    faults.push(...(await expectLines(pages, lines)));
    progress(`the process of one page was killed and replaced: all pages show ${lines.length} messages`);

    const others = await read(elsewhere);
    if (others.length > 0) faults.push(`another room heard ${others}`);
    // The form is hidden; a script, such as that of an extension, may still submit it.
    await pages[2].locator('#room').evaluate((input) => {
      input.value = 'x'.repeat(65);
      input.form.requestSubmit();
    });
    await status(pages[2], 'The server has refused');
    await pages[2].fill('#room', 'coffee');
    await pages[2].press('#room', 'Enter');
    await status(pages[2], 'Connected');
    await say(pages[2], 'in the second room');
    faults.push(...(await expectLines([elsewhere], ['Eve in the second room'])));
    await say(pages[0], 'in the first room');
    lines.push('Ada in the first room');
    faults.push(...(await expectLines(pages.slice(0, 2), lines)));
    if ((await read(pages[2])).join() !== 'Eve in the second room') faults.push('a page shows a room that it has left');
    progress('a page was refused, and entered a second room: it left the first');
    for (const page of pages) {
      if ((await page.title()) !== 'Rooms') faults.push('a page has run what was said');
      if ((await page.locator('#messages img, #messages script').count()) > 0)
        faults.push('a page has made HTML of it');
    }
    return faults;
  } finally {
    await browser?.close();
    await stop();
  }
}

module.exports = { testPages };
