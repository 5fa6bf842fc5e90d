'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { text } = require('node:stream/consumers');
const t = require('tap');
const ts = require('typescript');
const { scripts } = require('../package.json');
const { parsePage } = require('./support/markdown');
const { LONG } = require('./support/sample');

// README.md and docs/: each snippet compiles under `tsc --strict` and runs, each command exists,
// and each link leads somewhere. CONTRIBUTING.md says how a snippet is written.

const ROOT = path.join(__dirname, '..');

/** @param {string} name @returns {string} a page, with the same line ends on every system */
function read(name) {
  return fs.readFileSync(path.join(ROOT, name), 'utf8').replaceAll('\r\n', '\n');
}

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...fs
    .readdirSync(path.join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
].map((name) => ({ name, ...parsePage(read(name)) }));

/** Configurations of bundlers, which `npm run test:system -- bundlers` runs. */
const CONFIG = /^\/\/ \S+\.config\.m?js\n/;
/** What a snippet says that it prints; compared with what it prints. */
const PRINTS = /\/\/ (?:later )?prints (.*)$/gm;
const TIMEOUT = 30_000;
/** What the checks of snippets can use as `checks`. */
const CHECKS = JSON.stringify(path.join(__dirname, 'support/doc-checks.js'));

/** @returns {object[]} the snippets that are programs, each with the name of a file for it */
function programs() {
  return PAGES.flatMap(({ name, blocks }) =>
    blocks
      .filter(({ language, code }) => ['js', 'ts'].includes(language) && !CONFIG.test(code))
      .map((block) => {
        const { language, line } = block;
        const extension = language === 'ts' ? 'ts' : /^(import|export) /m.test(block.code) ? 'mjs' : 'js';
        const code = `${block.setup}\n${block.code}\n`;
        const program = `${code}\n{ const checks = require(${CHECKS}); ${block.check} }\n`;
        const file = `${name.replace(/\W/g, '-')}-${line}.${extension}`;
        return { ...block, where: `${name}:${line}`, file, code, program: block.check === '' ? code : program };
      })
  );
}

const snippets = programs();
// Inside the checkout, so that `framemask` is this package.
const folder = t.testdir({
  compile: Object.fromEntries(snippets.map(({ file, code }) => [file, code])),
  run: Object.fromEntries(snippets.map(({ file, program }) => [file, program]))
});

t.test('snippets compile under tsc --strict', LONG, async (t) => {
  const program = ts.createProgram(
    snippets.map(({ file }) => path.join(folder, 'compile', file)),
    {
      strict: true,
      noEmit: true,
      allowJs: true,
      checkJs: true,
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
      types: ['node'],
      skipLibCheck: true
    }
  );
  const faults = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const { line } = file.getLineAndCharacterOfPosition(start);
    const source = file.text.split('\n')[line].trim();
    return `${path.basename(file.fileName)}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}: ${source}`;
  });
  t.same(faults, []);
});

for (const { where, file, language, notRun, code: shown } of snippets) {
  const skip = notRun ?? (language === 'ts' ? 'types are compiled only' : false);
  t.test(`${where} runs`, { skip }, async (t) => {
    const child = spawn(process.execPath, [path.join(folder, 'run', file)], {
      env: { ...process.env, PORT: '0' },
      timeout: TIMEOUT
    });
    const [stdout, stderr, [code, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit')
    ]);
    t.same({ code, signal }, { code: 0, signal: null }, stderr);
    const printed = [...shown.matchAll(PRINTS)].map(([, line]) => line);
    if (printed.length > 0) t.same(stdout.trimEnd().split('\n'), printed);
  });
}

const exists = (...names) => fs.existsSync(path.join(ROOT, ...names));

function* unknownCommands() {
  for (const { name } of PAGES) {
    const page = read(name);
    for (const [command, script] of page.matchAll(/\bnpm run (?:--silent )?([\w:-]+)/g)) {
      if (!(script in scripts)) yield `${name}: ${command}`;
    }
    for (const [command, check] of page.matchAll(/\btest:system -- ([a-z][\w-]*)/g)) {
      const there = exists('test/system', `${check}.js`) || exists('test/system', check, 'index.js');
      if (!there) yield `${name}: ${command}`;
    }
    for (const [command, program] of page.matchAll(/\bnode ((?!--)[\w/]+\/[\w/-]+\.js)/g)) {
      if (!exists(program)) yield `${name}: ${command}`;
    }
  }
}

function* brokenLinks() {
  const anchors = new Map(PAGES.map((page) => [page.name, page.anchors]));
  for (const { name, links } of PAGES) {
    for (const { target, line } of links) {
      if (/^https?:/.test(target)) continue;
      const [link, anchor] = target.split('#');
      const file = link === '' ? name : path.posix.join(path.posix.dirname(name), link);
      const there = exists(file) && (anchor === undefined || anchors.get(file)?.has(anchor));
      if (!there) yield `${name}:${line}: ${target}`;
    }
  }
}

/** Modules that the types import, but Node.js and the package itself. */
function* packagesOfTypes() {
  for (const name of ['index.d.ts', 'index.d.mts', 'ws.d.ts', 'ws.d.mts']) {
    for (const [, module] of read(name).matchAll(/(?:\bfrom |\brequire\(|^import |types=)['"]([^'"]+)['"]/gm)) {
      if (module !== 'node' && !/^(node:|\.)/.test(module)) yield `${name}: ${module}`;
    }
  }
}

/** Each part of all pages that fits, with its place. */
const parts = (key, fits) =>
  PAGES.flatMap((page) => page[key].filter(fits).map((part) => ({ ...part, where: `${page.name}:${part.line}` })));

const FAULTS = {
  'a block of code is js, ts, text or a chart': parts(
    'blocks',
    ({ language }) => !['js', 'ts', 'text', 'mermaid'].includes(language)
  ),
  'commands exist': [...unknownCommands()],
  'files that are named in the text exist': parts('files', ({ file }) => !exists(file)),
  'links lead to files and headings that exist': [...brokenLinks()],
  'the types need no package but @types/node': [...packagesOfTypes()]
};

for (const [title, faults] of Object.entries(FAULTS)) {
  t.test(title, async (t) => {
    t.same(faults, []);
  });
}
