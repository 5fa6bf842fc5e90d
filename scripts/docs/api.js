'use strict';

// Generates docs/api.md from index.d.ts with TypeDoc and its Markdown plugin.

const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '../..');
// Inside the checkout, so that the types of Node.js are found.
const WORK = path.join(ROOT, '.cache/docs');

const HEAD = `<!-- Generated from index.d.ts by \`npm run build:docs\`. Do not edit. -->

# API

All exports of \`framemask\`. The guides show how they are used: [codec](codec.md),
[masking](masking.md), [frame ids](frame-ids.md), [tracing](tracing.md).
`;

const COMPILER_OPTIONS = { strict: true, module: 'nodenext', target: 'es2022', types: ['node'], noEmit: true };
const TYPES = path.join(ROOT, 'index.d.ts');

const OPTIONS = {
  entryPoints: [TYPES],
  tsconfig: path.join(WORK, 'tsconfig.json'),
  plugin: ['typedoc-plugin-markdown'],
  router: 'module',
  entryFileName: 'api',
  name: 'framemask',
  readme: 'none',
  githubPages: false,
  disableSources: true,
  disableGit: true,
  excludePrivate: true,
  excludeExternals: true,
  sort: ['source-order'],
  groupOrder: ['Classes', 'Functions', 'Variables', 'Interfaces', 'Type Aliases'],
  hidePageHeader: true,
  hidePageTitle: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  expandObjects: true,
  expandParameters: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  tableColumnSettings: { hideInherited: true, hideModifiers: true, hideOverrides: true, hideSources: true },
  logLevel: 'Warn',
  treatWarningsAsErrors: true
};

/**
 * Shortens what the plugin writes: no headings above a table or a sentence, and nothing that the
 * signature above says already.
 *
 * @param {string} markdown
 * @returns {string}
 */
function shorten(markdown) {
  return (
    markdown
      .replace(/^#+ Parameters\n\n/gm, '')
      .replace(/^#+ Type Parameters\n\n\| Type Parameter \|\n\| -+ \|\n(\|.*\n)+\n/gm, '')
      .replace(/^#+ Type Parameters\n\n/gm, '')
      .replace(/^#+ Returns\n\n(.+)\n+(?=#|\*\*\*|$(?![\s\S]))/gm, '')
      .replace(/^#+ Returns\n\n.+\n\n(?=\S)/gm, 'Returns ')
      .replace(/^#+ Throws\n\n/gm, 'Throws ')
      .replace(/^#+ Constructors\n\n(#+) Constructor\n/gm, '$1 Constructor\n')
      .replace(/\\?<`?ArrayBufferLike`?\\?>/g, '')
      .replace(/^\| `this` .*\n/gm, '')
      // A list that the plugin has put into one cell.
      .replace(/^\| <a id=.*$/gm, (row) => row.replaceAll(' - `', '<br>- `'))
      .replace(/[ \t]+$/gm, '')
  );
}

/**
 * @param {string} markdown
 * @returns {string} a line for each group of exports, with links to them
 */
function contents(markdown) {
  const groups = new Map();
  const seen = new Map();
  let group = '';
  for (const [, level, heading] of markdown.matchAll(/^(#+) (.+)$/gm)) {
    const slug = heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    if (level === '##') group = heading;
    if (level !== '###') continue;
    const link = `[${heading.replace('()', '')}](#${slug}${count === 0 ? '' : `-${count}`})`;
    groups.set(group, [...(groups.get(group) ?? []), link]);
  }
  return [...groups].map(([title, links]) => `- ${title}: ${links.join(', ')}`).join('\n');
}

/** @returns {Promise<string>} what docs/api.md should be */
async function generateApi() {
  const { Application } = await import('typedoc');
  fs.rmSync(WORK, { recursive: true, force: true });
  fs.mkdirSync(WORK, { recursive: true });
  if (/@throws \{(?!@)/.test(fs.readFileSync(TYPES, 'utf8'))) {
    throw new Error('index.d.ts: write "@throws TypeError if", without braces. TypeDoc drops what is in them');
  }
  fs.writeFileSync(
    path.join(WORK, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: [TYPES] })
  );
  const application = await Application.bootstrapWithPlugins(OPTIONS);
  const project = await application.convert();
  if (project === undefined) throw new Error('TypeDoc could not read index.d.ts');
  // What an interface has inherited is described once, where it was declared.
  for (const reflection of Object.values(project.reflections)) {
    if (!reflection.inheritedFrom) continue;
    for (const group of reflection.parent.groups)
      group.children = group.children.filter((child) => child !== reflection);
    project.removeReflection(reflection);
  }
  await application.outputs.writeOutput({ name: 'markdown', path: WORK }, project);
  if (application.logger.hasErrors() || application.logger.hasWarnings()) throw new Error('TypeDoc has warned');
  const body = shorten(fs.readFileSync(path.join(WORK, 'api.md'), 'utf8')).trim();
  return `${HEAD}\n${contents(body)}\n\n${body}\n`;
}

module.exports = { generateApi };
