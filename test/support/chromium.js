'use strict';

// A real browser, without a window, for the tests of pages.

const fs = require('node:fs');
const { installDebian } = require('../../scripts/support/fetch');

/** Where Debian, Ubuntu, Fedora and macOS have it. */
const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'
];

const find = () => [process.env.CHROMIUM, ...PLACES].find((file) => file !== undefined && fs.existsSync(file));

/**
 * Starts the Chromium of this machine.
 *
 * @param {object} options `chromium` is that of the caller's own playwright-core; `install` has
 *   apt-get install Chromium where it is missing
 * @returns {Promise<import('playwright-core').Browser>} close it at the end
 * @throws {Error} if there is none; the environment variable CHROMIUM may name the program
 */
async function startChromium({ chromium, install = false, progress = console.error }) {
  if (install && find() === undefined) installDebian(['chromium', 'fonts-dejavu-core'], progress);
  const program = find();
  if (program === undefined) throw new Error('Chromium is not installed: run with --install, or set CHROMIUM');
  // Chromium refuses to run as root with its sandbox.
  return chromium.launch({ executablePath: program, chromiumSandbox: process.getuid?.() !== 0 });
}

module.exports = { startChromium };
