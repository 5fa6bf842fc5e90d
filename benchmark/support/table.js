'use strict';

/**
 * @param {string[]} head the titles of the columns
 * @param {string[][]} rows
 * @param {number} [names] how many columns on the left are aligned to the left; the others are
 *   aligned to the right
 * @returns {string} a Markdown table with aligned columns
 */
function formatTable(head, rows, names = 1) {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const line = (cells) =>
    `| ${cells.map((cell, i) => (i < names ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (i < names ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

/**
 * @param {number} bytes
 * @returns {string} `125 B`, `4 KiB`, `1 MiB`
 */
function formatSize(bytes) {
  if (bytes < 1024 || bytes % 1024 !== 0) return `${bytes} B`;
  return bytes < 1024 ** 2 || bytes % 1024 ** 2 !== 0 ? `${bytes / 1024} KiB` : `${bytes / 1024 ** 2} MiB`;
}

/**
 * @param {number} number not negative
 * @returns {string} three significant digits, or all digits of the integer part; '' if not finite
 */
function formatNumber(number) {
  if (!Number.isFinite(number)) return '';
  if (number >= 100) return String(Math.round(number));
  return number.toFixed(number >= 10 ? 1 : 2);
}

module.exports = { formatNumber, formatSize, formatTable };
