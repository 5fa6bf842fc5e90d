'use strict';

// Bundles with an alias of ws, of a program that names ws.

const fs = require('node:fs');
const { createRequire } = require('node:module');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { CACHE, runNode, stage } = require('../../tool');
const { OPENED } = require('../exchange.cjs');

const tools = createRequire(path.join(CACHE, 'package.json'));

/** Each writes a bundle of the entry to a file, with `alias`, if it is not null, in place of ws. */
const BUNDLERS = {
  async esbuild(entry, file, alias) {
    await tools('esbuild').build({
      entryPoints: [entry],
      bundle: true,
      platform: 'node',
      outfile: file,
      loader: { '.node': 'copy' },
      logLevel: 'silent',
      ...(alias && { alias: { ws: alias } })
    });
  },
  async rollup(entry, file, alias) {
    const plugins = [
      tools('@rollup/plugin-node-resolve').default({ exportConditions: ['node'] }),
      tools('@rollup/plugin-commonjs').default(),
      tools('@rollup/plugin-json').default()
    ];
    if (alias) {
      // An ES module only, which `require` does not find.
      const file = path.join(CACHE, 'node_modules/@rollup/plugin-alias/dist/index.js');
      const { default: aliasPlugin } = await import(pathToFileURL(file).href);
      plugins.unshift(aliasPlugin({ entries: { ws: alias } }));
    }
    // ws and framemask ask for packages that may not be there.
    const bundle = await tools('rollup').rollup({ input: entry, plugins, onLog() {} });
    await bundle.write({ file, format: 'cjs' });
    await bundle.close();
  },
  async webpack(entry, file, alias) {
    // webpack's aliases hold for the targets of `imports` in package.json, too; others' do not.
    const rule = { exclude: /node_modules[\\/]framemask[\\/]/, resolve: { alias: { ws$: alias } } };
    const config = {
      target: 'node',
      mode: 'production',
      context: path.dirname(entry),
      entry,
      output: { path: path.dirname(file), filename: path.basename(file) },
      module: { rules: [{ test: /\.node$/, type: 'asset/resource' }, ...(alias ? [rule] : [])] }
    };
    const stats = await new Promise((resolve, reject) => {
      tools('webpack')(config, (error, result) => (error ? reject(error) : resolve(result)));
    });
    const { errors } = stats.toJson({ all: false, errors: true });
    if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  }
};

/** Bundles the program, and runs it where there are no packages. */
async function bundle(write, alias) {
  const entry = path.join(stage('aliases'), 'app.mjs');
  const folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'bundle-'));
  try {
    const file = path.join(folder, 'app.cjs');
    await write(entry, file, alias);
    return { ...(await runNode(folder, [file])), cell: `${fs.statSync(file).size} bytes` };
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

/** @type {import('../../tool').Tool} */
module.exports = {
  name: 'aliases',
  packages: {
    '@rollup/plugin-alias': '6.0.1',
    '@rollup/plugin-commonjs': '29.0.3',
    '@rollup/plugin-json': '6.1.0',
    '@rollup/plugin-node-resolve': '16.0.3',
    esbuild: '0.28.2',
    rollup: '4.68.7',
    webpack: '5.112.2'
  },
  cases: Object.entries(BUNDLERS).map(([name, write]) => ({
    name,
    ways: [
      { name: 'ws', opened: 0, run: () => bundle(write, null) },
      { name: 'alias', opened: OPENED, run: () => bundle(write, 'framemask/ws') }
    ]
  }))
};
