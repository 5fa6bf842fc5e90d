'use strict';

// What people do with the page of examples/rooms in a Chromium.

/** Milliseconds that a message may need. */
const PATIENCE = 30_000;

/**
 * Opens the page of a server, and enters a room.
 *
 * @param {{ newPage(): Promise<import('playwright-core').Page> }} browser a browser, or one of its contexts
 * @param {number} port of the server
 * @param {string} name
 * @param {string} room
 * @param {string[]} faults gets the requests of the page to elsewhere, and its errors
 */
async function enter(browser, port, name, room, faults) {
  const page = await browser.newPage();
  page.on('request', (request) => {
    if (new URL(request.url()).host !== `127.0.0.1:${port}` && !request.url().startsWith('data:')) {
      faults.push(`${name} requested ${request.url()}`);
    }
  });
  page.on('pageerror', (error) => faults.push(`${name}: ${error.message}`));
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.fill('#name', name);
  await page.fill('#room', room);
  await page.press('#room', 'Enter');
  await status(page, 'Connected');
  if (await page.locator('#enter').isVisible()) faults.push(`${name} has entered, and still sees the form`);
  return page;
}

async function status(page, text) {
  await page.locator('#status', { hasText: text }).waitFor({ timeout: PATIENCE });
}

/** Types a message, as people do. */
async function say(page, text) {
  await page.fill('#text', text);
  await page.press('#text', 'Enter');
}

/** @returns {Promise<string[]>} the messages that the page shows, each with its sender's name */
const read = (page) => page.locator('#messages li').allTextContents();

module.exports = { PATIENCE, enter, read, say, status };
