'use strict';

// examples/start.js, as a program and by its functions.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const path = require('node:path');
const { text } = require('node:stream/consumers');
const t = require('tap');
const { WebSocket, WebSocketServer } = require('ws');
const { startServer } = require('../examples/start/server');
const { demonstrate } = require('../examples/start/demonstration');

/** Starts examples/start.js. */
function spawnStart(args, environment) {
  const program = path.join(__dirname, '../examples/start.js');
  return spawn(process.execPath, [program, ...args], { env: { ...process.env, PORT: '0', ...environment } });
}

/** Runs examples/start.js to its end. */
async function runStart(args, environment) {
  const child = spawnStart(args, environment);
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit')
  ]);
  return { stdout, stderr, code, signal };
}

for (const kernel of ['', 'js']) {
  t.test(`--once echoes three messages and shows their frames, FRAMEMASK_KERNEL=${kernel}`, async (t) => {
    const { stdout, stderr, code } = await runStart(['--once'], { FRAMEMASK_KERNEL: kernel });
    t.equal(stderr, '', 'stderr');
    t.equal(code, 0, 'the exit code');
    t.match(stdout, kernel === 'js' ? /kernel js\n/ : /kernel (js|scalar|sse2|avx2|avx512|neon)\b/, 'the kernel');
    t.match(stdout, /^Echo server on ws:\/\/127\.0\.0\.1:\d+,/, 'the address');
    t.match(stdout, /header {4}81 bf\n.*header {4}81 3f\n/s, 'a length in 7 bits');
    t.match(stdout, /header {4}82 fe 03 e8\n.*header {4}82 7e 03 e8\n/s, 'a length in 16 bits');
    t.match(
      stdout,
      /header {4}82 ff 00 00 00 00 00 01 86 a0\n.*header {4}82 7f 00 00 00 00 00 01 86 a0\n/s,
      'a length in 64 bits'
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
}

t.test('serves until SIGINT or SIGTERM', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    const child = spawnStart([]);
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

t.test('7.1.7: goes on serving after a protocol error of a client', async (t) => {
  const server = await startServer(0);
  const client = new WebSocket(server.url);
  const [response] = await once(client, 'upgrade');
  const closed = once(client, 'close');
  response.socket.write(Buffer.from('8100', 'hex'));
  t.equal((await closed)[0], 1002);
  t.ok(await demonstrate(server.url, () => {}));
  await server.close();
});

t.test('a port that is taken or wrong is reported', async (t) => {
  const other = net.createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address();
  const busy = await runStart([], { PORT: String(port) });
  t.equal(busy.code, 2);
  t.equal(
    busy.stderr,
    `Can't listen on port ${port} (listen EADDRINUSE: address already in use 127.0.0.1:${port}); ` +
      'PORT=0 npm start uses a free one\n'
  );
  other.close();

  // Another program may have port 8080.
  const usual = await runStart(['--once'], { PORT: '' });
  t.match(usual.stdout + usual.stderr, /^(Echo server on ws:\/\/127\.0\.0\.1:8080,|Can't listen on port 8080 )/);

  for (const port of ['abc', '65536', '-1', '80.5', '1e3', ' ']) {
    const bad = await runStart([], { PORT: port });
    t.equal(bad.code, 2, `PORT=${port}`);
    const message = `PORT must be a whole number from 0 to 65535, but was "${port}"\n`;
    t.equal(bad.stderr, message, `PORT=${port}: stderr`);
  }
});

t.test('wrong options and kernels are reported; --help prints the usage', async (t) => {
  const option = await runStart(['--twice']);
  t.equal(option.code, 2);
  t.match(option.stderr, /^Unknown option '--twice'/);

  const kernel = await runStart([], { FRAMEMASK_KERNEL: 'mmx' });
  t.equal(kernel.code, 2);
  t.match(kernel.stderr, /^FRAMEMASK_KERNEL is "mmx", but this machine can run: js.*\n$/);

  const help = await runStart(['--help']);
  t.equal(help.code, 0);
  t.match(help.stdout, /^usage: npm start/);
});

t.test('demonstrate reports a server that changes messages or closes', async (t) => {
  const serve = async (onMessage) => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    server.on('connection', (socket) => socket.on('message', (...message) => onMessage(socket, ...message)));
    await once(server, 'listening');
    const lines = [];
    const allRight = await demonstrate(`ws://127.0.0.1:${server.address().port}`, (line) => lines.push(line));
    server.close();
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
