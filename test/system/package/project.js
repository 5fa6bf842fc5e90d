'use strict';

// Creates a project that depends on framemask, installs it, runs programs/ there, and looks for
// traces of install scripts.

const fs = require('node:fs');
const path = require('node:path');
const child = require('../../support/child');
const { filesBelow } = require('./tarball');

/** Programs that compile or download addons. In a project's PATH, each notes its call and fails. */
const DECOYS = 'cc c++ gcc g++ clang clang++ make cmake ninja python python3 node-gyp prebuild-install'.split(' ');

const TYPED = ['typed.cts', 'typed.mts'];
/**
 * The imports of typed.mts of which typed.cts has another form: a default, with names or without.
 */
const DEFAULT_IMPORTS = /^import (\w+)(?:, ({.*}))? from ('.*');$/gm;
/** Options for a Node.js program in TypeScript, with all checks. */
const COMPILER_OPTIONS = {
  strict: true,
  module: 'nodenext',
  target: 'es2022',
  types: ['node'],
  skipLibCheck: false,
  outDir: 'emitted',
  rootDir: '.'
};

/** The programs of each kind that are run. */
const KINDS = {
  javascript: () => ['commonjs.cjs', 'module.mjs'],
  typescript: (project) => project.compile(),
  oldWs: () => ['old-ws.cjs']
};

class Project {
  /**
   * @param {string} scratch a new folder
   * @param {import('./managers').Manager} manager
   * @param {import('./managers').Commands} commands
   * @param {object} source the registry, and the dependencies, of which framemask comes first
   */
  constructor(scratch, manager, commands, { registry, dependencies }) {
    const [folder, home, bin] = ['project', 'home', 'bin'].map((name) => path.join(scratch, name));
    const calls = path.join(scratch, 'calls');
    for (const name of [folder, home, bin]) fs.mkdirSync(name, { recursive: true });
    // With these, an install script could run and would be noticed.
    const programs = { node: process.execPath, sh: '/bin/sh', env: '/usr/bin/env' };
    for (const [name, file] of Object.entries(programs)) fs.symlinkSync(file, path.join(bin, name));
    for (const name of DECOYS) {
      fs.writeFileSync(path.join(bin, name), `#!/bin/sh\necho "${name} $*" >> '${calls}'\nexit 1\n`, { mode: 0o755 });
    }
    const manifest = { name: 'project', version: '1.0.0', private: true, dependencies };
    const files = { 'package.json': JSON.stringify(manifest, null, 2), ...manager.files(registry) };
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text);
    const env = {
      PATH: bin,
      HOME: home,
      NO_COLOR: '1',
      FRAMEMASK_REQUIRE_NATIVE: '1',
      // Nothing listens there. It stands in for a network namespace where there is none.
      HTTP_PROXY: 'http://127.0.0.1:9',
      HTTPS_PROXY: 'http://127.0.0.1:9',
      NO_PROXY: '127.0.0.1'
    };
    Object.assign(this, { folder, calls, env, manager, commands, installed: Object.keys(dependencies)[0] });
  }

  /**
   * @returns {Promise<{ output: string, errors: string }>}
   * @throws {Error} with its output, if it fails
   */
  async run(command) {
    const options = { cwd: this.folder, env: this.env, inherit: false, timeout: 120_000 };
    const { status, stdout, stderr, why } = await child.run(command, options);
    if (status === 0) return { output: stdout, errors: stderr };
    const name = command.map((part) => path.basename(part)).join(' ');
    throw new Error(`${name}: ${why}: ${(stderr + stdout).trim().slice(0, 1000)}`);
  }

  /** @returns {Promise<string[]>} faults: lines that are not part of the manager's summary */
  async install() {
    const { output, errors } = await this.run(this.commands.install);
    const lines = `${output}\n${errors}`.split('\n').map((line) => line.trimEnd());
    const remarks = lines.filter((line) => line !== '' && !this.manager.summary.some((pattern) => pattern.test(line)));
    return remarks.length === 0 ? [] : [`it printed\n${remarks.join('\n')}`];
  }

  /** @returns {string[]} faults: calls of compilers */
  calledDecoys() {
    const calls = fs.existsSync(this.calls) ? fs.readFileSync(this.calls, 'utf8').trim().split('\n') : [];
    return calls.map((call) => `called ${call}`);
  }

  /**
   * @param {Map<string, Buffer>} files of the tarball
   * @returns {string[]} faults: calls of compilers, and files that differ from the tarball
   */
  traces(files) {
    const installed = filesBelow(this._findFramemask());
    const names = [...new Set([...files.keys(), ...installed.keys()])].filter(
      (name) => !this.manager.notes?.test(name)
    );
    const different = names.filter((name) => !files.has(name) || !installed.get(name)?.equals(files.get(name)));
    return [...this.calledDecoys(), ...different.map((name) => `${name} differs from the tarball`)];
  }

  _findFramemask() {
    const place = path.join(this.folder, 'node_modules', this.installed);
    if (fs.existsSync(place)) return fs.realpathSync(place);
    const unplugged = path.join(this.folder, '.yarn/unplugged');
    const name = fs.existsSync(unplugged) && fs.readdirSync(unplugged).find((entry) => entry.startsWith('framemask-'));
    if (!name) throw new Error('framemask is not installed as files');
    return path.join(unplugged, name, 'node_modules/framemask');
  }

  /**
   * Checks the types and emits JavaScript, with the checkout's TypeScript unless the project needs
   * its own.
   *
   * @returns {Promise<string[]>} the programs to run
   */
  async compile() {
    const { add, tsc, check, typed } = this.commands;
    const options = { ...COMPILER_OPTIONS };
    if (add !== undefined) await this.run(add);
    if (tsc === undefined) {
      // Without the types of ws.
      const types = path.join(this.folder, 'types');
      fs.mkdirSync(types);
      fs.symlinkSync(path.join(child.ROOT, 'node_modules/@types/node'), path.join(types, 'node'));
      options.typeRoots = [types];
    }
    const config = { compilerOptions: options, files: TYPED };
    fs.writeFileSync(path.join(this.folder, 'tsconfig.json'), JSON.stringify(config, null, 2));
    const compiler = tsc ?? [process.execPath, path.join(child.ROOT, 'node_modules/typescript/bin/tsc')];
    await this.run([...compiler, '--project', '.']);
    if (check !== undefined) await this.run([...check, ...TYPED]);
    const emitted = TYPED.map((name) => `emitted/${name.replace('ts', 'js')}`);
    return [...emitted, ...TYPED.filter((name) => typed && name.endsWith(typed))];
  }

  /**
   * @param {(keyof typeof KINDS)[]} kinds
   * @returns {Promise<{ faults: string[], kernels: string[] }>} a program that prints an error, or
   *   runs without a native kernel, has a fault
   */
  async runPrograms(kinds) {
    fs.cpSync(path.join(__dirname, 'programs'), this.folder, { recursive: true });
    const typed = fs.readFileSync(path.join(this.folder, 'typed.mts'), 'utf8');
    const asCommonJs = typed.replace(DEFAULT_IMPORTS, (_, name, names, module) =>
      [`import ${name} = require(${module});`, ...(names ? [`import ${names} from ${module};`] : [])].join('\n')
    );
    fs.writeFileSync(path.join(this.folder, 'typed.cts'), asCommonJs);
    fs.copyFileSync(path.join(__dirname, '../support/check-framemask.cjs'), path.join(this.folder, 'check.cjs'));
    const faults = [];
    const kernels = new Set();
    for (const kind of kinds) {
      try {
        for (const program of await KINDS[kind](this)) {
          const { output, errors } = await this.run([...this.commands.run, `./${program}`]);
          if (errors !== '') throw new Error(`${program} printed ${errors.trim()}`);
          const { kernel } = JSON.parse(output);
          if (kernel === undefined || kernel === 'js') throw new Error(`${program} ran on ${kernel}`);
          kernels.add(kernel);
        }
      } catch (error) {
        faults.push(`${kind}: ${error.message}`);
      }
    }
    return { faults, kernels: [...kernels] };
  }
}

module.exports = { Project };
