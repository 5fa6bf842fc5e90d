'use strict';

// Makes the pictures of README.md and GUIDE.md in Chromium, below 150 KB each: npm run pictures

const path = require('node:path');
const { chromium } = require('playwright-core');
const { startChromium } = require('../../test/support/chromium');
const { Inspector } = require('../lib/inspector');

const WIDE = { width: 1120, height: 570 };
const PICTURES = [
  { name: 'message', viewport: WIDE, colorScheme: 'light', frame: 3 },
  { name: 'bad-frame', viewport: WIDE, colorScheme: 'dark', frame: 'n' }
];

async function main() {
  const inspector = new Inspector();
  const url = await inspector.listen(0);
  await inspector.openSample();
  const browser = await startChromium({ chromium });
  for (const { name, frame, ...options } of PICTURES) {
    const page = await browser.newPage(options);
    await page.goto(url);
    await page.locator('#list .row:visible').nth(10).waitFor();
    if (frame === 'n') await page.keyboard.press('n');
    else await page.click(`#list .row[data-index="${frame}"]`);
    await page.locator('#detail h2:visible').waitFor();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
    await page.screenshot({ path: path.join(__dirname, `${name}.png`) });
    await page.close();
  }
  await browser.close();
  await inspector.close();
}

main();
