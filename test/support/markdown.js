'use strict';

/**
 * A fenced block of code.
 *
 * @typedef {object} Block
 * @property {string} language what stands after the fence
 * @property {string} code
 * @property {number} line the 1-based line of the opening fence
 * @property {string} setup code of an HTML comment `<!-- setup: … -->` right before the block
 * @property {string} check code of an HTML comment `<!-- check: … -->` right after the block; run,
 *   but not compiled
 * @property {string | null} notRun the reason given by `<!-- not run: … -->` right before the block
 *
 * @typedef {object} Page
 * @property {Block[]} blocks
 * @property {Set<string>} anchors what a link to a place on the page can name
 * @property {{ target: string, line: number }[]} links
 * @property {{ file: string, line: number }[]} files of the checkout that are named in running text
 */

const FENCE = /^```(\w*)\n([\s\S]*?)\n?^```$/gm;
const COMMENT_BEFORE = /<!-- (setup|not run):\s([\s\S]*?)\s*-->\n+$/;
const COMMENT_BEHIND = /^\n+<!-- check:\s([\s\S]*?)\s*-->/;
const FOLDERS = ['benchmark', 'docs', 'examples', 'fuzz', 'lib', 'scripts', 'src', 'test'];
const FILE = new RegExp(`(?:^|[\\s(\`])((?:${FOLDERS.join('|')})/[\\w./-]*\\w)`, 'g');

/** @returns {number} the 1-based line of an index */
const lineAt = (text, index) => text.slice(0, index).split('\n').length;

/** @param {string} heading @returns {string} as GitHub makes an anchor of it */
function slug(heading) {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

/** @param {string} prose @returns {Set<string>} */
function anchorsOf(prose) {
  const anchors = new Set();
  const seen = new Map();
  for (const [, heading] of prose.matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = slug(heading);
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    anchors.add(count === 0 ? anchor : `${anchor}-${count}`);
  }
  for (const [, id] of prose.matchAll(/<a id="([^"]+)">/g)) anchors.add(id);
  return anchors;
}

/** @param {string} text @returns {Block[]} */
function blocksOf(text) {
  return [...text.matchAll(FENCE)].map((match) => {
    const [whole, language, code] = match;
    let before = text.slice(0, match.index);
    const block = { language, code, line: lineAt(text, match.index), setup: '', check: '', notRun: null };
    for (let found = COMMENT_BEFORE.exec(before); found !== null; found = COMMENT_BEFORE.exec(before)) {
      const [, kind, content] = found;
      if (kind === 'setup') block.setup = content;
      else block.notRun = content;
      before = before.slice(0, found.index);
    }
    block.check = COMMENT_BEHIND.exec(text.slice(match.index + whole.length))?.[1] ?? '';
    return block;
  });
}

/** @param {string} text of a Markdown file @returns {Page} */
function parsePage(text) {
  // Lines are kept, so that their numbers stay right.
  const blank = (match) => match.replace(/[^\n]/g, ' ');
  const prose = text.replace(FENCE, blank).replace(/<!--[\s\S]*?-->/g, blank);
  const find = (pattern) => [...prose.matchAll(pattern)].map((match) => [match[1], lineAt(prose, match.index)]);
  return {
    blocks: blocksOf(text),
    anchors: anchorsOf(prose),
    links: [...find(/\]\(([^)\s]+)\)/g), ...find(/(?:src|srcset|href)="([^"]+)"/g)].map(([target, line]) => ({
      target,
      line
    })),
    files: find(FILE).map(([file, line]) => ({ file, line }))
  };
}

module.exports = { parsePage };
