'use strict';

// Processes that are started from one startup snapshot must not share ids or masking keys.

const t = require('tap');
const { execFile } = require('node:child_process');
const { readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');

const run = promisify(execFile);
const ENTRY = path.join(__dirname, '../../index.js');

/** A snapshot is made of one file, so this bundles the modules of lib/. */
function bundle(entry) {
  const modules = new Map();
  const add = (file) => {
    if (modules.has(file)) return;
    const resolve = (_call, name) => {
      const target = require.resolve(path.join(path.dirname(file), name));
      found.push(target);
      return `loadModule(${JSON.stringify(target)})`;
    };
    const found = [];
    modules.set(file, readFileSync(file, 'utf8').replace(/require\('(\.[^']+)'\)/g, resolve));
    found.forEach(add);
  };
  add(entry);
  const sources = [...modules].map(([file, source]) => `${JSON.stringify(file)}: (module, exports) => {${source}\n}`);
  return `const modules = {${sources}};
    const cache = {};
    function loadModule(file) {
      if (file in cache) return cache[file].exports;
      const module = (cache[file] = { exports: {} });
      modules[file](module, module.exports);
      return module.exports;
    }
    const { Encoder, frameId } = loadModule(${JSON.stringify(entry)});`;
}

t.test('processes started from one snapshot share no ids and no masking keys', async (t) => {
  const folder = t.testdir();
  const program = `${bundle(ENTRY)}
    const encoder = new Encoder({ role: 'client' });
    function print(count) {
      for (let i = 0; i < count; i++) {
        encoder.text('');
        console.log(frameId(), frameId({ version: 7 }), Buffer.concat(encoder.take()).toString('hex'));
      }
    }
    print(1);
    require('node:v8').startupSnapshot.setDeserializeMainFunction(() => print(300));`;
  writeFileSync(path.join(folder, 'program.js'), program);
  const env = { ...process.env, FRAMEMASK_KERNEL: 'js', NODE_OPTIONS: '' };
  const blob = path.join(folder, 'snapshot.blob');
  await run(process.execPath, ['--snapshot-blob', blob, '--build-snapshot', 'program.js'], { cwd: folder, env });
  const start = () => run(process.execPath, ['--snapshot-blob', blob, 'main'], { env, maxBuffer: 2 ** 24 });
  const outputs = await Promise.all([start(), start(), start()]);
  const lines = outputs.flatMap(({ stdout }) => stdout.trim().split('\n'));
  t.equal(lines.length, 900);
  const columns = lines.map((line) => line.split(' '));
  for (const [i, what] of ['ids', 'ids of version 7', 'masking keys'].entries()) {
    // Two of 900 random keys are the same once in 10,000 runs, three once in 10^10.
    t.ok(new Set(columns.map((column) => column[i])).size > 897, what);
  }
});
