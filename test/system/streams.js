'use strict';

const { randomBytes } = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { WebSocketServer, WebSocketStream } = require('../../ws');
const { createServer } = require('../../examples/upload');
const { startChromium } = require('../support/chromium');
const { listen } = require('../support/free-port');
const { differences } = require('./support/results');

/** The length of the file that is uploaded, and of each direction of the streams. */
const LENGTH = 24 * 1024 * 1024;

/** In the page: sends chunks of all sizes, reads them back, hashes them, and closes. */
async function inPage({ length }) {
  const stream = new globalThis.WebSocketStream(`ws://${location.host}/echo`, { protocols: ['echo'] });
  const { readable, writable, protocol } = await stream.opened;
  const [reader, writer] = [readable.getReader(), writable.getWriter()];
  const sent = new Uint8Array(length);
  for (let i = 0; i < length; i += 65_536) crypto.getRandomValues(sent.subarray(i, i + 65_536));
  const writing = (async () => {
    for (let at = 0, size = 1; at < length; size = (size * 3) % 500_009) {
      await writer.write(sent.subarray(at, at + size));
      at += size;
    }
    await writer.write('é'.repeat(100_000));
  })();
  // Nothing is read at first: the server has to wait.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const got = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const { value } = await reader.read();
    // Chromium gives ArrayBuffers, the proposal says Uint8Array.
    got.set(new Uint8Array(value), at);
    at += value.byteLength;
  }
  const text = (await reader.read()).value;
  await writing;
  const hash = async (bytes) => [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))].join();
  const same = (await hash(sent)) === (await hash(got));
  stream.close({ closeCode: 4000, reason: 'bye' });
  return { protocol, same, text: text === 'é'.repeat(100_000), ...(await stream.closed) };
}

/** Echoes by streams; notes how each connection ended. */
async function startEcho() {
  const server = http.createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end(''));
  const ends = [];
  new WebSocketServer({ server }).on('connection', async (socket, { url }) => {
    const stream = WebSocketStream.from(socket);
    stream.closed.then(
      (end) => ends.push(`${end.closeCode} ${end.reason}`),
      (error) => ends.push(error.message)
    );
    const { readable, writable } = await stream.opened;
    if (url === '/lost') socket.terminate();
    else await readable.pipeTo(writable).catch(() => {});
  });
  return { server, ends, url: `http://127.0.0.1:${await listen(server)}/` };
}

module.exports = {
  summary: "Chromium's WebSocketStream and the page of examples/upload.js",
  options: { install: { text: 'have apt-get install Chromium where it is missing' } },
  packages: true,

  async run({ install }, { results, progress }) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framemask-upload-'));
    const echo = await startEcho();
    const uploads = createServer(folder);
    const uploadUrl = `http://127.0.0.1:${await listen(uploads)}`;
    const browser = await startChromium({ chromium: require('playwright-core').chromium, install, progress });
    const page = await browser.newPage();
    try {
      await page.goto(echo.url);
      await results.add('echo by streams at both ends', async () => {
        const expected = { protocol: 'echo', same: true, text: true, closeCode: 4000, reason: 'bye' };
        const actual = await page.evaluate(inPage, { length: LENGTH });
        return [...differences(actual, expected), ...differences(echo.ends, ['4000 bye'])];
      });
      await results.add('a lost connection', async () => {
        const error = await page.evaluate(async () => {
          const stream = new globalThis.WebSocketStream(`ws://${location.host}/lost`);
          const { name, closeCode } = await stream.closed.catch((error) => error);
          return { name, closeCode };
        });
        return differences(error, { name: 'WebSocketError', closeCode: 1006 });
      });
      const file = path.join(folder, 'source');
      const bytes = randomBytes(LENGTH);
      fs.writeFileSync(file, bytes);
      for (const api of ['WebSocketStream', 'WebSocket']) {
        await results.add(`the upload page by ${api}`, async () => {
          await page.goto(uploadUrl);
          if (api === 'WebSocket') await page.evaluate(() => delete globalThis.WebSocketStream);
          const before = new Set(fs.readdirSync(folder));
          await page.setInputFiles('input', file);
          const text = await page.locator('p', { hasText: /^Done|differ/ }).textContent();
          const [name] = fs.readdirSync(folder).filter((one) => !before.has(one));
          const isSame = fs.readFileSync(path.join(folder, name)).equals(bytes);
          return differences({ text, isSame }, { text: `Done: ${LENGTH} bytes`, isSame: true });
        });
      }
    } finally {
      await browser.close();
      for (const server of [echo.server, uploads]) server.close().closeAllConnections();
      fs.rmSync(folder, { recursive: true });
    }
  }
};
