'use strict';

// framemask/ws/register in processes of their own: what `require('ws')` and `import 'ws'` get.

const fs = require('node:fs');
const Module = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const t = require('tap');
const { version: installed } = require('ws/package.json');
const { channelToHooks, describeRegister, noteCopy, sendTo } = require('../../lib/ws/copies');
const { noteLoaded, redirectFile, redirectUrl } = require('../../lib/ws/redirect');
const child = require('../support/child');
const { LONG } = require('../support/sample');

const ROOT = path.join(__dirname, '../..');
const TIMEOUT = 60_000;

/** What a program prints of the ws that it got. */
const SHOW = `
function show(ws) {
  const ours = process.getBuiltinModule('node:module').createRequire(${JSON.stringify(__filename)})('../../ws.js');
  console.log(JSON.stringify({ isOurs: ws === ours, version: ours.report().ws, registered: ours.report().registered }));
}`;

const PROGRAMS = {
  'require.cjs': `${SHOW} show(require('ws'));`,
  'import.mjs': `import WebSocket from 'ws'; ${SHOW} show(WebSocket);`,
  'named.mjs': `import { WebSocketServer } from 'ws'; ${SHOW} show(new WebSocketServer({ noServer: true }).options.WebSocket);`,
  'dynamic.cjs': `${SHOW} import('ws').then((ws) => show(ws.default));`,
  'created.mjs': `import { createRequire } from 'node:module'; ${SHOW} show(createRequire(import.meta.url)('ws'));`,
  'imported.mjs': `import './require.cjs';`
};

/** A project whose node_modules has a package as its ws. */
const projectWith = (manifest) => ({
  ...PROGRAMS,
  node_modules: { ws: { 'package.json': manifest, 'index.js': 'module.exports = class Theirs {};' } }
});

const folder = t.testdir({
  usual: { ...PROGRAMS },
  second: { ...PROGRAMS },
  seven: projectWith(JSON.stringify({ name: 'ws', version: '7.5.10' })),
  old: projectWith(JSON.stringify({ name: 'ws', version: '8.17.0' })),
  nine: projectWith(JSON.stringify({ name: 'ws', version: '9.0.0' })),
  alias: projectWith(JSON.stringify({ name: 'fork-of-ws', version: '8.20.0' })),
  bare: projectWith(JSON.stringify({ name: 'ws' })),
  'no-hooks.cjs': "delete require('node:module').registerHooks;",
  'stand-in.cjs': `const Module = require('node:module');
    const { register } = Module;
    Module.register = (name, ...others) => {
      if (name.includes('register-hooks')) console.log('register was called');
      return register(name, ...others);
    };
    Module.registerHooks = ({ resolve }) => {
      const context = { conditions: ['node', 'require'], parentURL: 'file:///app.js' };
      const next = (name) => ({ url: name === 'ws' ? ${JSON.stringify(pathToFileURL(require.resolve('ws')).href)} : 'file:///wss.js' });
      console.log(resolve('ws', context, next).url.endsWith('/ws.js'), resolve('wss', context, next).url.endsWith('/ws.js'));
    };`,
  // As require-in-the-middle does, which dd-trace and OpenTelemetry use.
  'tracer.cjs': `const Module = require('node:module');
    const { require: original } = Module.prototype;
    const seen = new Map();
    Module.prototype.require = function (id) {
      if (id !== 'ws') return original.call(this, id);
      const file = Module._resolveFilename(id, this);
      if (!seen.has(file)) seen.set(file, original.call(this, id));
      return seen.get(file);
    };`,
  'worker.cjs': `const { Worker } = require('node:worker_threads');
    new Worker(${JSON.stringify(`${SHOW} show(require('node:module').createRequire(${JSON.stringify(__filename)})('ws'));`)}, { eval: true });`,
  'resolve.cjs': "console.log(JSON.stringify([require.resolve('ws'), require.resolve('ws/package.json')]));",
  'bun.cjs': "Object.defineProperty(process, 'versions', { value: { ...process.versions, bun: '1.3.0' } });",
  'nothing.cjs': ''
});

/** Copies framemask without its addon and without ws. */
function copyFramemask(to) {
  for (const name of ['package.json', 'index.js', 'ws.js', 'lib'])
    fs.cpSync(path.join(ROOT, name), path.join(to, name), { recursive: true });
}

// A copy of framemask has no addon. tap hides warnings from Node.js 22 on.
const { FRAMEMASK_REQUIRE_NATIVE, NODE_OPTIONS, ...env } = process.env;

const node = (args, options) =>
  child.run([process.execPath, ...args], { env, inherit: false, timeout: TIMEOUT, ...options });

/** @returns {Promise<object>} what a program shows of its ws */
async function run(args, expected = /^$/) {
  const { why, stdout, stderr, status } = await node(args);
  if (status !== 0 || !expected.test(stderr)) throw new Error(`${args.join(' ')}: ${why} ${stderr}`);
  return JSON.parse(stdout);
}

const register = ['--import', 'framemask/ws/register'];
const program = (project, name) => path.join(folder, project, name);
const BOTH = ['require.cjs', 'import.mjs'];
const OURS = { isOurs: true, version: installed, registered: true };
const THEIRS = { isOurs: false, version: installed, registered: true };

/** Checks what programs show of their ws. */
async function shows(t, expected, args, project, names, stderr) {
  const shown = await Promise.all(names.map((name) => run([...args, program(project, name)], stderr)));
  for (const [i, name] of names.entries()) t.same(shown[i], expected, `${args} ${project}/${name}`);
}

t.test('each way to load ws gets framemask/ws', LONG, async (t) => {
  await shows(t, OURS, register, 'usual', Object.keys(PROGRAMS));
  await shows(t, OURS, ['--require', 'framemask/ws/register'], 'usual', BOTH);
});

t.test('--require also reaches a Worker whose code is a text', async (t) => {
  t.same(await run(['--require', 'framemask/ws/register', path.join(folder, 'worker.cjs')]), OURS);
});

t.test('a tracer that keeps modules by the names of their files is given framemask/ws', async (t) => {
  const tracer = ['--require', path.join(folder, 'tracer.cjs')];
  t.same(await run([...tracer, ...register, program('usual', 'require.cjs')]), OURS);
  const [ws, manifest] = await run([...register, path.join(folder, 'resolve.cjs')]);
  t.equal(ws, path.join(ROOT, 'ws.js'));
  t.equal(manifest, require.resolve('ws/package.json'), "ws's own folder");
});

t.test('nothing is replaced without it', async (t) => {
  await shows(t, { ...THEIRS, registered: false }, [], 'usual', BOTH);
});

t.test('a second copy of ws gives way, too, to framemask/ws on its own ws', async (t) => {
  fs.cpSync(path.dirname(require.resolve('ws')), path.join(folder, 'second/node_modules/ws'), { recursive: true });
  const manifest = path.join(folder, 'second/node_modules/ws/package.json');
  fs.writeFileSync(manifest, fs.readFileSync(manifest, 'utf8').replace(`"${installed}"`, '"8.19.0"'));
  await shows(t, OURS, register, 'second', [...BOTH, 'dynamic.cjs']);
});

t.test('a ws that is not supported is left alone, with a warning', async (t) => {
  const warning = /\[FRAMEMASK_WARN_WS_LEFT\] .* leaves ws 7\.5\.10 of \S+seven\S+ as it is: .*"overrides"/;
  await shows(t, THEIRS, register, 'seven', BOTH, warning);
  const [emitWarning, warnings] = [process.emitWarning, []];
  process.emitWarning = (message) => warnings.push(message);
  t.teardown(() => {
    process.emitWarning = emitWarning;
  });
  for (const project of ['seven', 'old', 'nine', 'alias', 'bare']) {
    const file = path.join(folder, project, 'node_modules/ws/index.js');
    t.equal(redirectFile('ws', file, null), file, project);
  }
  const file = path.join(folder, 'no-package.json-here/index.js');
  t.equal(redirectFile('ws', file, null), file, 'a file without a package.json');
  redirectFile('ws', path.join(folder, 'nine/node_modules/ws/index.js'), null);
  t.same(
    warnings.map((message) => /leaves (.*) of .* is: .*(overrides|part of another package)/.exec(message).slice(1)),
    [
      ['ws 7.5.10', 'overrides'],
      ['ws 8.17.0', 'overrides'],
      ['ws 9.0.0', 'overrides'],
      ['ws', 'part of another package']
    ]
  );
});

t.test('what a hook of Node.js is told', async (t) => {
  const ws = { url: pathToFileURL(require.resolve('ws')).href, format: 'commonjs' };
  const parentURL = pathToFileURL(__filename).href;
  const ours = (name, format) => ({ url: pathToFileURL(path.join(ROOT, name)).href, format, shortCircuit: true });
  const [asImport, asRequire] = [{ conditions: ['node', 'import'] }, { conditions: ['node', 'require'] }];
  t.same(redirectUrl('ws', { ...asImport, parentURL }, ws), ours('ws.mjs', 'module'));
  t.same(redirectUrl('ws', { ...asRequire, parentURL }, ws), ours('ws.js', 'commonjs'));
  t.same(redirectUrl('ws', asImport, ws), ours('ws.mjs', 'module'), 'without a parent');
  t.same(redirectUrl('ws', { ...asImport, parentURL: 'data:text/javascript,' }, ws), ours('ws.mjs', 'module'));
  t.same(
    redirectUrl('../node_modules/ws/index.js', { ...asRequire, parentURL }, ws),
    ours('ws.js', 'commonjs'),
    'a path'
  );
  t.equal(
    redirectUrl(ws.url, { ...asImport, parentURL: `${ws.url}?iitm=true` }, ws),
    ws,
    "a tracer's module around ws"
  );
  const tracer = pathToFileURL('/app/node_modules/require-in-the-middle/index.js').href;
  t.equal(redirectUrl('ws', { ...asRequire, parentURL: tracer }, ws), ws, 'a tracer that asks for the path');
  const manifest = { url: pathToFileURL(require.resolve('ws/package.json')).href, format: 'json' };
  t.equal(redirectUrl('ws/package.json', asRequire, manifest), manifest, 'another file');
  const builtin = { url: 'node:net', format: 'builtin' };
  t.equal(redirectUrl('ws', asImport, builtin), builtin, 'no file');
  const own = pathToFileURL(path.join(ROOT, 'lib/ws/load-ws.js')).href;
  t.equal(redirectUrl('ws', { ...asRequire, parentURL: own }, ws), ws, "framemask's own");
  t.equal(redirectFile('ws', require.resolve('ws'), null), path.join(ROOT, 'ws.js'), 'a REPL');
});

t.test('a ws that was loaded before, and one that the thread of hooks has met, are reported', async (t) => {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  t.teardown(() => {
    process.emitWarning = emitWarning;
  });
  const ws = path.join(folder, 'second/node_modules/ws');
  const loaded = path.join(ws, 'lib/websocket.js');
  const reported = () => describeRegister().copies.map(({ path, reason }) => [path, reason]);
  const before = reported();
  noteLoaded([loaded, path.join(ROOT, 'ws.js')]);
  t.same(reported(), before, 'that of framemask/ws is its own');
  noteLoaded([path.join(folder, 'alias/node_modules/ws/lib/websocket.js'), loaded]);
  t.same(reported(), [...before, [ws, 'it was loaded before framemask/ws/register']]);

  const copy = { path: '/app/node_modules/ws', version: '8.23.0', replaced: true, reason: null };
  t.same(channelToHooks(false), {}, 'in that thread itself');
  const { data, transferList } = channelToHooks();
  t.same(transferList, [data.port]);
  sendTo(data.port);
  noteCopy(copy);
  sendTo(null);
  t.same(reported(), [...before, [ws, 'it was loaded before framemask/ws/register'], [copy.path, null]]);
  data.port.close();
});

t.test('NODE_DEBUG=framemask and report() tell of each ws, and of the first connection', async (t) => {
  const app = `
    const seven = require('./seven/node_modules/ws');
    const { WebSocket, WebSocketServer } = require('ws');
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => {
      new WebSocket('ws://127.0.0.1:' + server.address().port).on('open', () => {
        console.log(JSON.stringify(WebSocket.report()));
        process.exit();
      });
    });`;
  fs.writeFileSync(path.join(folder, 'tells.cjs'), app);
  const loaded = ['--require', require.resolve('ws')];
  const debug = { env: { ...env, NODE_DEBUG: 'framemask' } };
  const { stdout, stderr } = await node([...loaded, ...register, path.join(folder, 'tells.cjs')], debug);
  const { copies, connections } = JSON.parse(stdout);
  t.match(copies, [
    { path: path.dirname(require.resolve('ws')), version: installed, replaced: false, reason: /loaded before/ },
    { path: path.join(folder, 'seven/node_modules/ws'), version: '7.5.10', replaced: false, reason: /overrides/ }
  ]);
  t.equal(connections.opened, 2);
  const lines = stderr.split('\n').filter((line) => line.startsWith('FRAMEMASK'));
  t.match(
    lines.map((line) => line.replace(/^FRAMEMASK \d+: /, '')),
    [
      new RegExp(`^ws ${installed} of \\S+ stays: it was loaded before`),
      `registered in place of ws ${installed}`,
      /^ws 7\.5\.10 of \S+ stays: /,
      /^first connection: a (server|client) of ws \S+, kernel \w+$/
    ]
  );
});

t.test('imports that are resolved in a thread of their own are reported, too', async (t) => {
  const app = `import WebSocket from 'ws'; console.log(JSON.stringify(WebSocket.report().copies));`;
  fs.writeFileSync(path.join(folder, 'reports.mjs'), app);
  const { stdout } = await node([...register, path.join(folder, 'reports.mjs')]);
  t.match(JSON.parse(stdout), [{ version: installed, replaced: true, reason: null }]);
});

t.test('another framemask finds its own ws', async (t) => {
  const other = path.join(folder, 'other/framemask');
  copyFramemask(other);
  const app = path.join(folder, 'other/app.cjs');
  fs.writeFileSync(
    app,
    `${SHOW} const other = require('./framemask/ws.js');
    if (other === require('ws')) throw new Error('there is one framemask');
    show(Object.getPrototypeOf(other));`
  );
  t.same(await run([...register, app]), THEIRS);
});

t.test('without a ws the program ends with the reason', async (t) => {
  // Outside the checkout, where no ws is found.
  const alone = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'register-'));
  t.teardown(() => fs.rmSync(alone, { recursive: true }));
  copyFramemask(alone);
  const args = ['--require', './lib/ws/register.js', '-e', 'console.log("runs")'];
  const { status, stderr } = await node(args, { cwd: alone });
  t.equal(status, 1);
  t.match(stderr, /framemask\/ws works on ws, which is not installed: run `npm install ws`/);
});

t.test('Bun is told that it has no such hooks', async (t) => {
  const preload = ['--require', path.join(folder, 'bun.cjs')];
  const { status, stderr } = await node([...preload, ...register, path.join(folder, 'nothing.cjs')]);
  t.equal(status, 1);
  t.match(stderr, /framemask\/ws\/register works in Node\.js only: require 'framemask\/ws' instead of 'ws'/);
});

t.test('the hooks of other versions of Node.js', async (t) => {
  if (Module.registerHooks === undefined) {
    const preload = ['--require', path.join(folder, 'stand-in.cjs')];
    const { stdout, stderr } = await node([...preload, ...register, path.join(folder, 'nothing.cjs')]);
    t.same({ stdout, stderr }, { stdout: 'true false\n', stderr: '' });
  } else {
    // From Node.js 26 on, `module.register` is deprecated.
    const preload = ['--no-deprecation', '--require', path.join(folder, 'no-hooks.cjs')];
    await shows(t, OURS, [...preload, ...register], 'usual', Object.keys(PROGRAMS));
  }
});

t.test('a program of ws runs unchanged', async (t) => {
  const source = `
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => {
      const client = new WebSocket('ws://127.0.0.1:' + server.address().port);
      client.on('open', () => client.send('Hello'));
      client.on('message', (data) => { console.log(String(data)); client.close(); server.close(); });
    });
    server.on('connection', (socket) => socket.on('message', (data) => socket.send(data + ' again')));`;
  for (const [name, load] of [
    ['echo.cjs', "const { WebSocket, WebSocketServer } = require('ws');"],
    ['echo.mjs', "import { WebSocket, WebSocketServer } from 'ws';"]
  ]) {
    fs.writeFileSync(path.join(folder, name), load + source);
    const { stdout, stderr } = await node([...register, path.join(folder, name)]);
    t.same({ stdout, stderr }, { stdout: 'Hello again\n', stderr: '' }, name);
  }
});
