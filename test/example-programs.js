'use strict';

const { spawn } = require('node:child_process');
const { randomBytes, randomUUID } = require('node:crypto');
const { EventEmitter, on, once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { PassThrough } = require('node:stream');
const { text } = require('node:stream/consumers');
const t = require('tap');
const { WebSocket } = require('ws');
const { KINDS, createServer } = require('../examples/httparena/server');
const { demonstrate } = require('../examples/start/demonstration');
const upload = require('../examples/upload');
const chatRoom = require('../examples/ws');
const { WebSocketStream } = require('../ws.js');
const { example, listen, run, startWsServer } = require('./support/connections');

// The examples that are programs, and their functions.

/** Starts a program of examples/. */
function spawnExample(name, args, environment) {
  return spawn(process.execPath, [example(name), ...args], {
    env: { ...process.env, PORT: '0', HOST: '127.0.0.1', ...environment }
  });
}

const runStart = (args, environment) => run([example('start.js'), ...args], { PORT: '0', ...environment });

t.test('--once echoes three messages and shows their frames', async (t) => {
  const { stdout, stderr, code } = await runStart(['--once']);
  t.equal(stderr, '', 'stderr');
  t.equal(code, 0, 'the exit code');
  t.match(stdout, /^Echo server on ws:\/\/127\.0\.0\.1:\d+, .* kernel (js|scalar|sse2|avx2|avx512|neon)\b/);
  const headers = ['81 bf', '81 3f', '82 fe 03 e8', '82 7e 03 e8'];
  headers.push('82 ff 00 00 00 00 00 01 86 a0', '82 7f 00 00 00 00 00 01 86 a0');
  t.same(
    Array.from(stdout.matchAll(/header {4}(.*)\n/g), ([, header]) => header),
    headers,
    'lengths in 7, 16 and 64 bits'
  );
  t.equal(stdout.match(/Every byte came back right/g).length, 3, 'messages that came back');

  const [, key, masked, unmasked] =
    /key {7}(\S\S(?: \S\S){3})\n.*?masked {4}(\S\S(?: \S\S){15}) and.*?unmasked {2}(\S\S(?: \S\S){15}) and/s.exec(
      stdout
    );
  const [k, from, to] = [key, masked, unmasked].map((hex) => Buffer.from(hex.replaceAll(' ', ''), 'hex'));
  t.same(
    from.map((byte, i) => byte ^ k[i & 3]),
    to,
    'the payload shown as masked is masked with the key shown'
  );
});

t.test('opentelemetry.js: spans of both ends, and metrics', async (t) => {
  const { stdout, stderr, code } = await run([example('opentelemetry.js')]);
  t.equal(stderr, '');
  t.equal(code, 0);
  const spans = stdout.split('traceId').slice(1);
  t.equal(spans.length, 2, 'spans');
  for (const span of spans) {
    t.match(span, /name: 'websocket \/chat'/);
    t.match(
      span,
      /'websocket.closeCode': 1000,\s+'websocket.sentCode': 1000,\s+'websocket.messagesReceived': 1,\s+'websocket.bytesReceived': 5/
    );
    t.match(span, /status: \{ code: 0 \}/);
  }
  const [, connections, frames, sizes] = stdout.split('descriptor: ');
  t.match(connections, /websocket.connections/);
  t.same(connections.match(/value: \d+/g), ['value: 0', 'value: 0']);
  t.equal(frames.match(/opcode: '(text|close)'/g).length, 8, 'four frames, each at both ends');
  t.match(sizes, /websocket.message.size/);
});

t.test('serves until SIGINT or SIGTERM', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    const child = spawnExample('start.js', []);
    const ended = once(child, 'exit');
    let stdout = '';
    for await (const chunk of child.stdout) {
      stdout += chunk;
      if (stdout.includes('until Ctrl-C')) break;
    }
    const [url] = /ws:\S+\d/.exec(stdout);
    const client = new WebSocket(url);
    await once(client, 'open');
    client.send('still there?');
    const [answer] = await once(client, 'message');
    t.equal(answer.toString(), 'still there?', `before ${signal}`);
    const closed = once(client, 'close');
    child.kill(signal);
    t.equal((await closed)[0], 1001, `${signal}: the close code of clients`);
    t.same(await ended, [0, null], `${signal}: the exit code`);
  }
});

t.test('--help prints the usage; wrong options, ports and kernels are reported', async (t) => {
  const { port } = await listen(t, net.createServer());
  const taken =
    `Can't listen on port ${port} (listen EADDRINUSE: address already in use 127.0.0.1:${port}); ` +
    'PORT=0 npm start uses a free one\n';
  const badPort = (text) => `PORT must be a whole number from 0 to 65535, but was "${text}"\n`;
  const cases = [
    ['start.js --help', {}, { code: 0, stdout: /^usage: npm start/ }],
    ['start.js --twice', {}, { code: 2, stderr: /^Unknown option '--twice'/ }],
    ['start.js', { PORT: `${port}` }, { code: 2, stdout: '', stderr: taken }],
    ['start.js', { PORT: 'abc' }, { code: 2, stdout: '', stderr: badPort('abc') }],
    ['start.js', { PORT: '65536' }, { code: 2, stdout: '', stderr: badPort('65536') }],
    [
      'start.js',
      { FRAMEMASK_KERNEL: 'mmx' },
      { code: 2, stderr: /^FRAMEMASK_KERNEL is "mmx", but .* can run: js.*\n$/ }
    ],
    ['trace.js --help', {}, { code: 0, stdout: /^usage: node examples\/trace\.js/ }],
    ['trace.js --nonsense', {}, { code: 1 }],
    ['ws.js', {}, { code: 2, stderr: /^usage: node examples\/ws\.js/ }],
    ['httparena/server.js --connections bun', {}, { code: 2, stderr: /^--connections must be / }],
    ['httparena/server.js --processes 0', {}, { code: 2, stderr: /^--processes must be / }]
  ];
  const check = async ([command, environment, expected]) => {
    const [name, ...args] = command.split(' ');
    const result = await run([example(name), ...args], { PORT: '0', ...environment });
    t.match(result, expected, `${command} ${JSON.stringify(environment)}`);
  };
  await Promise.all(cases.map(check));
  // Another program may have port 8080: each server that asks for a port gets a free one.
  const folder = t.testdir({
    'listen.js': `const { Server } = require('node:net');
      const { listen } = Server.prototype;
      Server.prototype.listen = function (port, ...rest) {
        console.log('port', port);
        return listen.call(this, 0, ...rest);
      };`
  });
  const usual = await run(['--require', path.join(folder, 'listen.js'), example('start.js'), '--once'], { PORT: '' });
  t.match(usual, { code: 0, stdout: /^port 8080\nEcho server on / });
});

t.test('demonstrate reports a server that changes messages or closes', async (t) => {
  const serve = async (onMessage) => {
    const { server, url } = await startWsServer(t);
    server.on('connection', (socket) => socket.on('message', (...message) => onMessage(socket, ...message)));
    const lines = [];
    const allRight = await demonstrate(url, (line) => lines.push(line));
    return { allRight, wrong: lines.filter((line) => line.includes('WRONG')) };
  };

  const oneBit = await serve((socket, data, isBinary) => {
    if (data.length === 1000) data[999] ^= 1;
    socket.send(data, { binary: isBinary });
  });
  t.same(oneBit, { allRight: false, wrong: ['  WRONG: it came back as another message\n'] });

  const allText = await serve((socket, data) => socket.send(data.toString('latin1')));
  t.equal(allText.allRight, false);

  const closes = await serve((socket) => socket.close(1007));
  t.same(closes, { allRight: false, wrong: ['WRONG: the server has closed the connection after message 1'] });
});

t.test('prints why there is no addon', async (t) => {
  const empty = t.testdir({});
  const { stdout, code } = await runStart(['--once'], {
    FRAMEMASK_PREBUILD: empty,
    FRAMEMASK_REQUIRE_NATIVE: ''
  });
  t.equal(code, 0);
  t.match(stdout, /with the kernel js, as there is no addon \(No native build was found for /);
});

const runTrace = (...options) => run([example('trace.js'), ...options]);

t.test('the page shows each frame once, ids ascend, and a Ping frame lies inside a message', async (t) => {
  const { stdout, stderr } = await runTrace();
  t.equal(stderr, '');
  const [, ...lines] = stdout.trimEnd().split('\n');
  t.equal(lines.length, 12);
  const text = lines.map((line) => line.replace(/^ *[\d.]+ {2}/, ''));
  const fromClient = text.filter((line) => line.includes('client ──▶ server'));
  const ids = fromClient.map((line) => line.slice(0, 36));
  t.ok(ids.every((id) => /^[0-9a-f-]{36}$/.test(id)));
  t.same(ids, [...ids].sort());
  t.match(
    fromClient.slice(1, 5).join('\n'),
    /text .*┐\n.*continuation .*┤\n.*ping .*│\n.*continuation .*┘ one text message of 28 bytes$/
  );
});

t.test('--json prints each record of both ends', async (t) => {
  const { stdout } = await runTrace('--json');
  const records = stdout.trimEnd().split('\n').map(JSON.parse);
  const frames = records.filter(({ channel }) => channel === 'framemask:frame');
  t.equal(frames.length, 24, 'twelve frames, sent and received');
  for (const role of ['server', 'client']) {
    const sent = frames.filter((frame) => frame.role === role && frame.direction === 'sent');
    const received = frames.filter((frame) => frame.role !== role && frame.direction === 'received');
    const shape = ({ sequence, opcode, fin, rsv, masked, length }) => ({ sequence, opcode, fin, rsv, masked, length });
    t.same(sent.map(shape), received.map(shape), `what the ${role} sent, the other received`);
  }
  t.equal(records.filter(({ channel }) => channel === 'framemask:message').length, 12);
});

async function startChat(t) {
  const server = chatRoom.serve(0);
  await once(server, 'listening');
  t.teardown(() => chatRoom.shutDown(server));
  return { server, url: `ws://127.0.0.1:${server.address().port}` };
}

/** A client of the example, whose printed lines can be awaited one by one. */
async function join(url, name) {
  const input = new PassThrough();
  const printer = new EventEmitter();
  const lines = on(printer, 'line');
  const socket = chatRoom.chat(url, name, input, (line) => printer.emit('line', line));
  await once(socket, 'open');
  return { input, next: async () => (await lines.next()).value[0] };
}

t.test('everybody gets what somebody says', async (t) => {
  const { server, url } = await startChat(t);
  const [ada, grace] = [await join(url, 'Ada'), await join(url, 'Grace')];
  const theirs = new WebSocket(url);
  await once(theirs, 'open');
  const heard = once(theirs, 'message');
  ada.input.write('Καλημέρα\n');
  t.equal(await ada.next(), 'Ada: Καλημέρα');
  t.equal(await grace.next(), 'Ada: Καλημέρα');
  t.equal(String((await heard)[0]), 'Ada: Καλημέρα', 'a client of ws');
  theirs.close();
  await once(theirs, 'close');

  grace.input.end();
  t.equal(await grace.next(), 'closed 1000');
  chatRoom.shutDown(server);
  t.equal(await ada.next(), 'closed 1001 The server is going away');
});

t.test('a client that breaks the rules is closed, and the server goes on', async (t) => {
  const { url } = await startChat(t);
  const errors = t.capture(console, 'error', () => {});
  const wrong = new WebSocket(url);
  await once(wrong, 'open');
  wrong.send(Buffer.alloc(65_537));
  t.equal((await once(wrong, 'close'))[0], 1009);
  t.match(errors(), [{ args: ['Max payload size exceeded'] }]);
  const ada = await join(url, 'Ada');
  ada.input.write('still there?\n');
  t.equal(await ada.next(), 'Ada: still there?');
});

t.test('a client prints why it has no server', async (t) => {
  const printed = [];
  const socket = chatRoom.chat('ws://127.0.0.1:1', 'Ada', new PassThrough(), (line) => printed.push(line));
  await new Promise((resolve) => socket.on('close', resolve));
  t.match(printed, [/ECONNREFUSED/, 'closed 1006']);
});

t.test('as programs', async (t) => {
  const server = spawnExample('ws.js', ['server']);
  const [line] = await once(server.stdout, 'data');
  const [, port] = /:(\d+)\n$/.exec(String(line));
  const client = spawnExample('ws.js', ['client', 'Ada'], { PORT: port });
  const printed = text(client.stdout);
  client.stdin.end('Hello\n');
  await once(client, 'exit');
  t.equal(await printed, 'Ada: Hello\nclosed 1000\n');
  server.kill('SIGTERM');
  t.same(await once(server, 'exit'), [0, null]);
});

// The checks of HttpArena's validation of echo-ws, on each kind of connections.

/** @returns {Promise<[data: string | Buffer, isBinary: boolean][]>} the next messages */
async function receive(client, count) {
  const messages = [];
  await new Promise((resolve) => {
    client.on('message', (data, isBinary) => {
      if (messages.push([isBinary ? data : String(data), isBinary]) === count) resolve();
    });
  });
  client.removeAllListeners('message');
  return messages;
}

for (const kind of KINDS) {
  t.test(`${kind}: text, bytes and five messages at once come back, and a Close frame`, async (t) => {
    const { port, url } = await listen(t, createServer(kind));

    const [refused] = await once(http.get({ port, host: '127.0.0.1', path: '/ws', agent: false }), 'response');
    t.equal(refused.statusCode, 426, 'a request that is no handshake is refused');
    refused.resume();

    const client = new WebSocket(`${url}/ws`, { perMessageDeflate: false });
    await once(client, 'open');
    const bytes = randomBytes(256);
    const five = Array.from({ length: 5 }, () => randomBytes(8).toString('hex'));
    for (const messages of [['hello'], [bytes], five]) {
      for (const message of messages) client.send(message);
      t.same(
        await receive(client, messages.length),
        messages.map((message) => [message, message === bytes])
      );
    }
    client.close(1000, 'validate done');
    t.equal((await once(client, 'close'))[0], 1000, 'its code comes back');
  });
}

t.test('one process for each processor listens on the same port', async (t) => {
  const child = spawnExample('httparena/server.js', ['--processes', '2']);
  t.teardown(() => child.kill());
  const [line] = await once(child.stdout, 'data');
  const [, port] = /^codec: 2 processes on ws:\/\/127\.0\.0\.1:(\d+)\/ws/.exec(line);
  const client = new WebSocket(`ws://127.0.0.1:${port}/ws`);
  await once(client, 'open');
  client.send('hello');
  t.same(await receive(client, 1), [['hello', false]]);
  client.terminate();
});

t.test('msgpack.js: each record arrives as it was sent', async (t) => {
  const good = await run([example('msgpack.js')]);
  t.match(good, { stderr: '', code: 0, stdout: /^1000 records, \d+\.\d MB in frames, \d+ ms: all came as sent\n$/ });

  // It must find a flipped bit.
  const folder = t.testdir({
    'flip.js': `const framemask = require(${JSON.stringify(path.join(__dirname, '../index.js'))});
      framemask.Connection = class extends framemask.Connection {
        constructor(socket, role, options) {
          const onMessage = function (data, isBinary) {
            data[data.length - 1] ^= 1;
            options.onMessage.call(this, data, isBinary);
          };
          super(socket, role, { ...options, onMessage });
        }
      };`
  });
  const bad = await run(['--require', path.join(folder, 'flip.js'), example('msgpack.js')]);
  t.match(bad, { stdout: '', stderr: /\S/, code: 1 });
});

t.test('deflate.js: context takeover saves bytes', async (t) => {
  const { stdout, stderr, code } = await run([example('deflate.js')]);
  t.same([stderr, code], ['', 0]);
  const lines = stdout.trimEnd().split('\n');
  t.same(
    [lines[0], lines[3]],
    ['permessage-deflate; server_no_context_takeover; client_no_context_takeover', 'permessage-deflate']
  );
  const received = [lines[1], lines[4]].map((line) => {
    const [, total, size] = /^102 replies, (\d+) bytes, the first 152781, the last 60: (\d+) received$/.exec(line);
    t.ok(size * 4 < total);
    return Number(size);
  });
  t.ok(received[1] < received[0], 'with context takeover');
  t.same([lines[2], lines[5]], ['closed 1000', 'closed 1000']);
});

t.test('an upload goes on after a lost connection', async (t) => {
  const folder = t.testdir();
  const { port, url } = await listen(t, upload.createServer(folder));
  const id = randomUUID();
  const connect = async (options) => {
    const stream = new WebSocketStream(`${url}/${id}`, options);
    const { readable, writable } = await stream.opened;
    const [reader, writer] = [readable.getReader(), writable.getWriter()];
    return { stream, writer, read: async () => JSON.parse((await reader.read()).value) };
  };
  const bytes = randomBytes(3_000_000);
  const first = await connect();
  t.same(await first.read(), { at: 0 });
  await first.writer.write(bytes.subarray(0, 1_000_000));
  const watcher = fs.watch(folder);
  await once(watcher, 'change');
  watcher.close();
  const second = await connect({ origin: `http://127.0.0.1:${port}` });
  t.equal((await first.stream.closed.catch((error) => error)).closeCode, 1006, 'the connection before is ended');
  const { at } = await second.read();
  t.ok(at > 0 && at <= 1_000_000, `it goes on at ${at}`);
  await second.writer.write(bytes.subarray(at));
  await second.writer.write('end');
  t.match(await second.read(), { size: bytes.length, digest: /^[0-9a-f]{64}$/ });
  t.equal((await second.stream.closed).closeCode, 1005);
  t.ok(bytes.equals(fs.readFileSync(path.join(folder, id))));
  for (const options of [{ origin: 'https://elsewhere.example' }, { origin: 'null' }]) {
    await t.rejects(connect(options), { name: 'WebSocketError' });
  }
  const left = await connect();
  await left.read();
  await left.writer.close();
});

t.test('the page of an upload reads slices, and says which end has failed', async (t) => {
  const { port, url } = await listen(t, upload.createServer(t.testdir()));
  const page = await (await fetch(`http://127.0.0.1:${port}`)).text();
  const [, script] = /<script type="module">(.*)<\/script>/s.exec(page);
  const load = new Function('document', 'WebSocket', 'location', script);
  const size = 1_000_000;
  /** @returns {Promise<string>} how the upload of a file ends whose bytes `read` returns */
  const uploaded = (read) =>
    new Promise((resolve) => {
      const slice = (from, to) => ({
        async arrayBuffer() {
          // Chromium refuses 2 GiB.
          if (to - from > 2 ** 20) throw new DOMException('', 'NotReadableError');
          return read(from, Math.min(to, size));
        }
      });
      const input = { files: [{ name: 'big', size, slice, ...slice(0, Infinity) }] };
      const line = {
        set textContent(text) {
          if (!text.startsWith('Uploading')) resolve(text);
        }
      };
      load({ querySelectorAll: () => [input, {}, line] }, WebSocket, { href: url.replace('ws', 'http') });
      input.onchange();
    });
  const bytes = new Uint8Array(randomBytes(size)).buffer;
  t.equal(await uploaded((from, to) => bytes.slice(from, to)), `Done: ${size} bytes`);
  t.equal(await uploaded((from, to) => new Uint8Array(randomBytes(to - from)).buffer), 'The bytes differ');
  const refuse = () => {
    throw new DOMException('', 'NotFoundError');
  };
  t.equal(await uploaded((from, to) => (from > 0 ? refuse() : bytes.slice(0, to))), 'The file can no longer be read');
});
