'use strict';

// How each bundler is called: without configuration, and with the documented one, which adds the
// addon.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { configOf, optionOf } = require('./project');

/**
 * @typedef {object} Job
 * @property {NodeJS.Require} tools loads the bundlers
 * @property {string} project the folder of the program
 * @property {string} entry a file in it
 * @property {'cjs' | 'esm'} format of the bundle
 * @property {boolean} native whether to use the documented configuration
 * @property {string} out the output folder
 */

/**
 * @typedef {object} Bundler
 * @property {string} name as --only takes it
 * @property {Record<string, string>} packages npm packages with their versions, the bundler first
 * @property {('cjs' | 'esm')[]} [formats] both by default
 * @property {boolean} [byEntry] whether the entry determines the format of the bundle
 * @property {boolean} [follows] whether it includes the addon without configuration
 * @property {(job: Job) => string[]} [leaves] packages that it does not bundle, so that they are
 *   needed in node_modules
 * @property {(job: Job) => Promise<{ file: string, warnings: string[] }>} bundle the file to run,
 *   below `out`
 */

/**
 * The packages that a bundle needs in node_modules if framemask, under either name, is not bundled.
 */
const PACKAGES = ['framemask', 'bufferutil', 'node-gyp-build'];

const fileOf = ({ format }) => (format === 'esm' ? 'app.mjs' : 'app.cjs');

/** Runs a bundler's command. @returns {string[]} the lines that it printed on stderr */
function command({ tools, project }, bin, args) {
  const options = { cwd: project, encoding: 'utf8' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [tools.resolve(bin), ...args], options);
  if (status !== 0) throw new Error(`${bin} failed: ${stderr || stdout}`);
  return stderr.split('\n').filter(Boolean);
}

/** Writes a documented configuration to the project. @returns {string} its path */
function writeConfig({ project }, name) {
  const file = path.join(project, name);
  fs.writeFileSync(file, configOf(name));
  return file;
}

/** Runs Vite's build for the server. @returns {ReturnType<Bundler['bundle']>} */
async function viteBuild(job, config) {
  const { tools, project, entry, format, out } = job;
  const { build } = await import(pathToFileURL(tools.resolve('vite')).href);
  const warnings = [];
  const warn = (message) => warnings.push(message);
  await build({
    root: project,
    logLevel: 'warn',
    customLogger: { info() {}, warn, warnOnce: warn, error: warn, clearScreen() {}, hasErrorLogged: () => false },
    build: {
      ssr: entry,
      outDir: out,
      emptyOutDir: false,
      rollupOptions: { output: { format: format === 'esm' ? 'es' : format, entryFileNames: fileOf(job) } }
    },
    ...config
  });
  return { file: fileOf(job), warnings };
}

const VITE = { vite: '8.3.8' };

/** @type {Bundler[]} */
const BUNDLERS = [
  {
    name: 'esbuild',
    packages: { esbuild: '0.28.2' },
    async bundle(job) {
      const { entry, format, native, out } = job;
      const args = [entry, '--bundle', '--platform=node', `--format=${format}`, '--log-level=warning'];
      args.push(`--outfile=${path.join(out, fileOf(job))}`);
      // ws needs that line in an ES module, with any bufferutil.
      if (format === 'esm' && (native || entry.includes('ws-'))) args.push(optionOf('esbuild', /--banner:js="[^"]*"/));
      if (native) args.push(optionOf('esbuild', /--loader:\S+/));
      return { file: fileOf(job), warnings: command(job, 'esbuild/bin/esbuild', args) };
    }
  },
  {
    name: 'webpack',
    packages: { webpack: '5.112.2' },
    async bundle(job) {
      const { tools, project, entry, format, native, out } = job;
      const esm = format === 'esm';
      const config = {
        ...(native ? require(writeConfig(job, 'webpack.config.js')) : { target: 'node' }),
        context: project,
        mode: 'production',
        entry: `./${entry}`,
        experiments: { outputModule: esm },
        output: { path: out, filename: fileOf(job), module: esm }
      };
      const stats = await new Promise((resolve, reject) => {
        tools('webpack')(config, (error, result) => (error ? reject(error) : resolve(result)));
      });
      const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true, modules: true });
      if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
      return { file: fileOf(job), warnings: warnings.map(({ moduleName, message }) => `${moduleName}: ${message}`) };
    }
  },
  {
    name: 'rollup',
    packages: {
      rollup: '4.68.7',
      '@rollup/plugin-node-resolve': '16.0.3',
      '@rollup/plugin-commonjs': '29.0.3',
      '@rollup/plugin-json': '6.1.0'
    },
    async bundle(job) {
      const { tools, project, entry, format, native, out } = job;
      const plugins = ['node-resolve', 'commonjs', 'json'].map((name) => tools(`@rollup/plugin-${name}`).default());
      const config = native
        ? (await import(pathToFileURL(writeConfig(job, 'rollup.config.mjs')).href)).default
        : { plugins };
      const warnings = [];
      const bundle = await tools('rollup').rollup({
        ...config,
        input: path.join(project, entry),
        onLog: (_level, { message }) => warnings.push(message)
      });
      await bundle.write({ file: path.join(out, fileOf(job)), format });
      await bundle.close();
      return { file: fileOf(job), warnings };
    }
  },
  {
    name: 'ncc',
    packages: { '@vercel/ncc': '0.45.0' },
    byEntry: true,
    follows: true,
    async bundle(job) {
      const { entry, format, out } = job;
      const warnings = command(job, '@vercel/ncc/dist/ncc/cli.js', ['build', entry, '--quiet', '--out', out]);
      return { file: format === 'esm' ? 'index.mjs' : 'index.cjs', warnings };
    }
  },
  // It does not bundle: it lists the files that a program needs, for others to copy.
  {
    name: 'nft',
    packages: { '@vercel/nft': '1.11.5' },
    byEntry: true,
    follows: true,
    async bundle({ tools, project, entry, out }) {
      const { fileList, warnings } = await tools('@vercel/nft').nodeFileTrace([path.join(project, entry)], {
        base: project
      });
      for (const file of fileList) fs.cpSync(path.join(project, file), path.join(out, file));
      return { file: entry, warnings: [...warnings].map(({ message }) => message) };
    }
  },
  {
    name: 'vite',
    packages: VITE,
    // What is not bundled requires ws where it is.
    leaves: ({ native }) => (native ? [...PACKAGES, 'ws'] : []),
    bundle(job) {
      const inline = { configFile: false, ssr: { noExternal: true } };
      return viteBuild(job, job.native ? { configFile: writeConfig(job, 'vite.config.mjs') } : inline);
    }
  },
  // Vite's default.
  {
    name: 'vite-external',
    formats: ['esm'],
    packages: VITE,
    follows: true,
    leaves: () => [...PACKAGES, 'ws'],
    bundle: (job) => viteBuild(job, { configFile: false })
  }
];

module.exports = { BUNDLERS };
