// JSON for the eye: its own tokens, on lines of their own. Parsing and printing it would change
// numbers, and keys that stand twice.

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
/** Deeper values are indented no further: a hostile text would be thousands of times as long. */
const MAX_DEPTH = 40;

/** @returns {string | null} an object or an array, indented; null if the text is neither */
export function indentJson(text) {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  let depth = 0;
  let before = '';
  let indented = '';
  const line = () => `\n${'  '.repeat(Math.min(depth, MAX_DEPTH))}`;
  for (const [token] of text.matchAll(TOKEN)) {
    const isEnd = token === '}' || token === ']';
    const begins = before === '{' || before === '[';
    if (isEnd) depth--;
    if ((isEnd && !begins) || (begins && !isEnd) || before === ',') indented += line();
    indented += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth++;
    before = token;
  }
  return indented;
}
