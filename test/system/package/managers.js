'use strict';

// The package managers, and what each prints when an install succeeds.

const path = require('node:path');
const { fetchNpm } = require('../../../scripts/support/fetch');
const runtimes = require('../support/runtimes');

/**
 * @typedef {object} Manager
 * @property {string} name as --only takes it
 * @property {string[]} sources how it installs framemask: from a tarball, by its name from a
 *   registry, or as bufferutil beside a version of ws
 * @property {() => Commands} prepare downloads it
 * @property {(registry: string) => Record<string, string>} files of a project, besides its
 *   package.json
 * @property {RegExp[]} summary the lines that it prints at every install
 * @property {RegExp} [notes] the files that it adds to those of a package
 * @property {boolean} [types] whether types are checked in its project: not where another has the
 *   same files in the same places
 *
 * @typedef {object} Commands
 * @property {string} version
 * @property {string[]} install
 * @property {string[]} run runs the program whose name is appended
 * @property {string[]} [add] installs what a check of types needs
 * @property {string[]} [tsc] the compiler, if it must be the project's own
 * @property {string[]} [check] checks the types of the programs whose names are appended
 * @property {string} [typed] the ending of those TypeScript programs that it can run
 */

const NODE_22 = () => runtimes.node('22.23.3');
const NPMRC = (registry) => ({ '.npmrc': `registry=${registry}/\n` });
const ADDED = /^\+ ((npm:)?framemask[ @]\S+|bufferutil <- framemask \S+|ws \S+( \(\S+ is available\))?)$/;

/** Older than those of framemask/ws. */
const OLD_WS = ['7.5.10', '8.16.0'];
const SOURCES = ['file', 'name', ...OLD_WS.map((version) => `ws ${version}`)];

function npm(version, node, types) {
  return {
    types,
    name: `npm-${version.split('.')[0]}`,
    prepare() {
      const program = path.join(fetchNpm(`npm@${version}`), 'bin/npm-cli.js');
      // With the option, it shows what install scripts print.
      return { version, install: [node(), program, 'install', '--foreground-scripts'], run: [process.execPath] };
    },
    files: NPMRC,
    summary: [/^added [23] packages in \S+$/],
    sources: SOURCES
  };
}

function pnpm(version, program, types) {
  return {
    types,
    name: `pnpm-${version.split('.')[0]}`,
    prepare: () => ({ version, install: [...program(), 'install'], run: [process.execPath] }),
    files: NPMRC,
    summary: [
      /^Progress: resolved /,
      /^Packages: \+[23]$/,
      /^\++$/,
      /^Packages are \S+ (\S+ )?from the content-addressable store to the virtual store\.$/,
      /^ {2}Content-addressable store is at: /,
      /^ {2}Virtual store is at: /,
      /^dependencies:$/,
      ADDED,
      /^Done in \S+ using pnpm v\S+$/
    ],
    notes: /^node_modules\/\.bin\//,
    sources: SOURCES
  };
}

function yarn(name, settings, ownFiles) {
  const version = '4.18.1';
  return {
    types: !ownFiles,
    name,
    prepare() {
      const program = [process.execPath, path.join(fetchNpm(`@yarnpkg/cli-dist@${version}`), 'bin/yarn.js')];
      const install = [...program, 'install'];
      if (ownFiles) return { version, install, run: [process.execPath] };
      const add = [...program, 'add', '--dev', 'typescript', '@types/node'];
      return { version, install, run: [...program, 'node'], add, tsc: [...program, 'tsc'] };
    },
    files: (registry) => ({
      // Without it, Yarn may take a folder above for the project.
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
      /^➤ YN0085: │ \+ framemask@\S+, (ws@\S+, )?(node-gyp-build@\S+|and \d more\.)$/,
      /^➤ YN0013: │ (A package was|\d packages were) added to the project/,
      // Printed whatever is installed, because of pnpEnableEsmLoader.
      /^➤ YN0092: │ ESM support for PnP uses the experimental loader API/
    ],
    notes: /^\.ready$/,
    sources: SOURCES
  };
}

function bun() {
  return {
    types: true,
    name: 'bun',
    sources: ['file', 'name'],
    prepare() {
      const program = runtimes.bun();
      return { version: runtimes.BUN, install: [program, 'install'], run: [program], typed: 'ts' };
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

function deno() {
  return {
    types: true,
    name: 'deno',
    // Deno takes a tarball for a folder.
    sources: ['name'],
    prepare() {
      const program = runtimes.deno();
      const run = runtimes.denoRun();
      const version = runtimes.DENO;
      const add = [program, 'add', '--dev', 'npm:@types/node'];
      // Deno can't run a .cts: it does not compile `import` there, and then refuses it.
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
  npm('11.21.2', () => process.execPath, true),
  npm('12.2.0', NODE_22),
  pnpm('10.34.9', () => [process.execPath, path.join(fetchNpm('pnpm@10.34.9'), 'bin/pnpm.cjs')]),
  pnpm('11.28.10', () => [NODE_22(), path.join(fetchNpm('pnpm@11.28.10'), 'bin/pnpm.mjs')], true),
  // The package "pnpm" of this version downloads this one.
  pnpm('12.21.0', () => [path.join(fetchNpm('@pnpm/exe.linux-x64@12.21.0'), 'pnpm')]),
  yarn('yarn-4', ['nodeLinker: node-modules'], true),
  yarn('yarn-4-pnp', ['nodeLinker: pnp', 'pnpEnableEsmLoader: true'], false),
  bun(),
  deno()
];

module.exports = { MANAGERS, OLD_WS };
