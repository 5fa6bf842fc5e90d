'use strict';

// A page that uploads a file of any size, and a server that writes it to disk: node
// examples/upload.js FOLDER. Neither holds more than some chunks of it. An upload goes on where it
// was after a lost connection.
//
// The server says how many bytes it has, { at }; the page sends the others, and the text 'end'; the
// server answers { size, digest }.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { pipeline } = require('node:stream/promises');
const { WebSocketServer, WebSocketStream } = require('framemask/ws');

/** How many bytes are read at once. */
const SLICE = 256 * 1024;

const PAGE = `<!doctype html><meta charset="utf-8"><title>Upload</title>
<input type="file"> <progress max="1" value="0"></progress><p role="status">Choose a file.</p><script type="module">
  const [input, bar, line] = document.querySelectorAll('input, progress, p');
  const SLICE = ${SLICE};
  async function* slices(file, at) {
    for (; at < file.size; at += SLICE) {
      yield new Uint8Array(await file.slice(at, at + SLICE).arrayBuffer());
      bar.value = Math.min((at + SLICE) / file.size, 1);
    }
  }
  // As digestOf of the server.
  async function digestOf(file) {
    let digest = new Uint8Array(0);
    for await (const slice of slices(file, 0)) {
      digest = await crypto.subtle.digest('SHA-256', await new Blob([digest, slice]).arrayBuffer());
    }
    return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
  }
  // A write waits while the connection is full.
  async function byStream(url, file) {
    const { readable, writable } = await new WebSocketStream(url).opened;
    const [reader, writer] = [readable.getReader(), writable.getWriter()];
    const { at } = JSON.parse((await reader.read()).value);
    for await (const slice of slices(file, at)) await writer.write(slice);
    await writer.write('end');
    return JSON.parse((await reader.read()).value);
  }
  // WebSocket says nothing when it can take more: the page asks.
  async function byWebSocket(url, file) {
    const socket = new WebSocket(url);
    const message = () => new Promise((resolve, reject) => {
      socket.onmessage = ({ data }) => resolve(JSON.parse(data));
      socket.onclose = () => reject(new Error('The connection was lost'));
    });
    const { at } = await message();
    for await (const slice of slices(file, at)) {
      socket.send(slice);
      while (socket.bufferedAmount > 4 * SLICE) await new Promise((resolve) => setTimeout(resolve, 10));
      if (socket.readyState !== WebSocket.OPEN) break;
    }
    const answer = message();
    if (socket.readyState === WebSocket.OPEN) socket.send('end');
    return answer;
  }
  input.onchange = async () => {
    const [file] = input.files;
    const url = new URL(crypto.randomUUID(), location.href.replace(/^http/, 'ws'));
    const send = globalThis.WebSocketStream === undefined ? byWebSocket : byStream;
    line.textContent = 'Uploading ' + file.name;
    for (let answer; answer === undefined; ) {
      try {
        answer = await send(url, file);
        const isSame = answer.digest === (await digestOf(file));
        line.textContent = isSame ? 'Done: ' + answer.size + ' bytes' : 'The bytes differ';
      } catch (error) {
        if (/^Not(Found|Readable)Error$/.test(error.name)) {
          line.textContent = 'The file can no longer be read';
          return;
        }
        line.textContent = 'The connection was lost. Trying again';
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
    }
  };
</script>`;

/** The bytes of an upload, until its end. */
async function* bytesOf(readable) {
  // Leaving the loop would close the WebSocket.
  for await (const chunk of readable.values({ preventCancel: true })) {
    if (chunk === 'end') return;
    yield chunk;
  }
  throw new Error('It closed before the end');
}

/**
 * crypto.subtle of a page digests no streams. Both ends digest each slice after the digest of those
 * before it.
 */
async function digestOf(file) {
  let digest = Buffer.alloc(0);
  for await (const slice of fs.createReadStream(file, { highWaterMark: SLICE })) {
    digest = createHash('sha256').update(digest).update(slice).digest();
  }
  return digest.toString('hex');
}

async function receive(socket, file) {
  const { readable, writable } = await WebSocketStream.from(socket).opened;
  const writer = writable.getWriter();
  const target = fs.createWriteStream(file, { flags: 'a' });
  const at = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  await writer.write(JSON.stringify({ at }));
  await pipeline(bytesOf(readable), target);
  await writer.write(JSON.stringify({ size: fs.statSync(file).size, digest: await digestOf(file) }));
  await writer.close();
}

/** @param {string} folder gets the files, each with the id of its upload as its name */
function createServer(folder) {
  /** The uploads that run: an id → its socket, and a promise of its end. */
  const running = new Map();
  const server = http.createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html').end(PAGE);
  });
  // A page of another site could fill the disk. Who may upload, and how much, a real server decides
  // here.
  const verifyClient = ({ origin, req: { url, headers } }) =>
    (origin === undefined || (URL.canParse(origin) && new URL(origin).host === headers.host)) &&
    /^\/[0-9a-f-]{36}$/.test(url);
  new WebSocketServer({ server, verifyClient }).on('connection', (socket, { url }) => {
    const before = running.get(url);
    // The end of a lost connection may be seen after the next one has come.
    before?.socket.terminate();
    const ended = Promise.resolve(before?.ended)
      .then(() => receive(socket, path.join(folder, url)))
      .catch(() => socket.terminate());
    running.set(url, { socket, ended });
    ended.then(() => running.get(url)?.socket === socket && running.delete(url));
  });
  return server;
}

if (require.main === module) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined || !fs.existsSync(folder)) {
    console.error('usage: node examples/upload.js FOLDER');
    process.exit(2);
  }
  const server = createServer(folder).listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
    console.log(`http://localhost:${server.address().port}`);
  });
}

module.exports = { createServer };
