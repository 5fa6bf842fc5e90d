'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

/** The width of a README's column on GitHub, in pixels. */
const COLUMN = 830;

/** What matters of GitHub's styles. */
const STYLE = `
  :root { color-scheme: light dark; }
  body { width: ${COLUMN}px; margin: 32px auto; font: 16px/1.5 Helvetica, Arial, "DejaVu Sans", sans-serif;
    color: light-dark(#1f2328, #f0f6fc); background: light-dark(#ffffff, #0d1117); }
  a { color: light-dark(#0969da, #4493f8); }
  img { max-width: 100%; box-sizing: content-box; }
  table { display: block; width: max-content; max-width: 100%; overflow: auto; border-collapse: collapse; }
  th, td { border: 1px solid light-dark(#d1d9e0, #3d444d); padding: 6px 13px; }
  code { font: 85% "DejaVu Sans Mono", monospace; }
  pre { padding: 16px; overflow: auto; background: light-dark(#f6f8fa, #151b23); }`;

/**
 * @param {string} file Markdown
 * @returns {Promise<string>} a page that looks like GitHub's; its links lead to what is beside the file
 */
async function pageHtml(file) {
  const { marked } = await import('marked');
  const body = await marked.parse(fs.readFileSync(file, 'utf8'), { gfm: true });
  const base = pathToFileURL(`${path.dirname(file)}${path.sep}`).href;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><base href="${base}"><title>${path.basename(file)}</title>
<style>${STYLE}</style></head><body>${body}</body></html>\n`;
}

module.exports = { pageHtml };
