'use strict';

// The parts of the page that need no browser: the rows that the filters leave, and text.

const assert = require('node:assert/strict');
const path = require('node:path');
const { test } = require('node:test');
const { pathToFileURL } = require('node:url');

const load = (name) => import(pathToFileURL(path.join(__dirname, '../page', name)).href);

/** A row: the next frame of the client, with the given columns. */
const row = ({ connection = 0, server = 0, opcode = 1, fin = true, length = 5, state = 0, head = -1 } = {}) => {
  return [connection, server, 1, null, opcode, fin ? 1 : 0, length, 0, state, 0, '', head, null];
};

const append = (store, rows) => store.update(rows.map((row, i) => [store.rows.length + i, row]));

async function createStore() {
  const { Store, noFilters } = await load('store.mjs');
  const store = new Store();
  append(store, [
    row(),
    row({ opcode: 9, length: 0 }),
    row({ opcode: 2, length: 70_000, server: 1 }),
    row({ opcode: 11, state: 1 }),
    row({ opcode: -1, length: -1, state: 1 }),
    row({ connection: 1 }),
    row({ opcode: 8, length: 2, connection: 1 })
  ]);
  return { store, filter: (filters) => store.setFilters({ ...noFilters(), ...filters }) };
}

test('each filter leaves the rows that it names, and several together', async () => {
  const { store, filter } = await createStore();
  for (const [filters, shown] of [
    [{}, [0, 1, 2, 3, 4, 5, 6]],
    [{ opcodes: new Set([8, 9]) }, [1, 6]],
    [{ opcodes: new Set([3, -1]) }, [3, 4]], // reserved opcodes, and unknown ones
    [{ min: 3 }, [0, 2, 3, 5]],
    [{ min: 1, max: 5 }, [0, 3, 5, 6]],
    [{ connection: 1 }, [5, 6]],
    [{ sender: 1 }, [2]],
    [{ verdict: 1 }, [3, 4]],
    [{ verdict: 1, opcodes: new Set([3]) }, [3]]
  ]) {
    filter(filters);
    assert.deepEqual(store.shown, shown);
  }
});

test('rows that come later are filtered, and left out of a search before them', async () => {
  const { store, filter } = await createStore();
  filter({ opcodes: new Set([9]) });
  append(store, [row({ opcode: 9 }), row()]);
  assert.deepEqual(store.shown, [1, 7]);
  store.update([[0, row({ opcode: 9 })]]);
  assert.deepEqual(store.shown, [0, 1, 7]);
  filter({});
  store.setFound([0, 3, 6]);
  assert.deepEqual(store.shown, [0, 3, 6]);
  filter({ connection: 1 });
  append(store, [row({ connection: 1 })]);
  assert.deepEqual(store.shown, [6]);
  store.setFound(null);
  assert.deepEqual(store.shown, [5, 6, 9]);
});

test('a message stands for its fragments, until it is unfolded', async () => {
  const { Store, noFilters } = await load('store.mjs');
  const store = new Store();
  const first = (head, server = 0) => row({ head, server, fin: false });
  const part = (head, server = 0, fin = true) => row({ head, server, fin, opcode: 0 });
  // Two messages in fragments, of both ends, and a Ping amid them.
  append(store, [first(0), first(1, 1), row({ opcode: 9 }), part(0, 0, false)]);
  append(store, [part(1, 1), part(0), row({ head: 6 })]);
  assert.deepEqual([store.shown, store.count], [[0, 1, 2, 6], 7]);
  store.unfold(0, true);
  assert.deepEqual([store.shown, store.isUnfolded(0), store.isUnfolded(6)], [[0, 1, 2, 3, 5, 6], true, null]);
  store.reveal(4);
  assert.deepEqual(store.shown, [0, 1, 2, 3, 4, 5, 6]);
  store.unfold(0, false);
  store.unfold(1, false);
  store.setFilters({ ...noFilters(), opcodes: new Set([0]) });
  assert.deepEqual(store.shown, [3, 4, 5], 'fragments are shown if their first one is not');
  store.setFilters(noFilters());
  store.update([[3, row({ head: 0, fin: false, opcode: 0, state: 1 })]]);
  assert.deepEqual([store.shown, store.nextBad(0, 1)], [[0, 1, 2, 3, 6], 3], 'a bad one is never folded');
  store.setFound([0, 5]);
  assert.deepEqual([store.shown, store.count], [[0], 2]);
});

test('JSON is indented, and stays the same', async () => {
  const { indentJson } = await load('json.mjs');
  const text = '{"a":[1,{},[]],"b":"{\\"x\\",[","a":12345678901234567890}';
  const lines = [
    '{',
    '  "a": [',
    '    1,',
    '    {},',
    '    []',
    '  ],',
    '  "b": "{\\"x\\",[",',
    '  "a": 12345678901234567890',
    '}'
  ];
  assert.equal(indentJson(text), lines.join('\n'));
  assert.equal(indentJson(lines.join('\n')), lines.join('\n'));
  for (const other of ['', '12', '"x"', '{', '[1', 'hello']) assert.equal(indentJson(other), null, other);
  const depth = 100_000;
  assert.ok(indentJson(`${'['.repeat(depth)}${']'.repeat(depth)}`).length < 200 * depth);
});

test('the next bad row is found in both directions, of those that are shown', async () => {
  const { store, filter } = await createStore();
  const next = (...calls) => calls.map(([index, step]) => store.nextBad(index, step));
  assert.deepEqual(next([-1, 1], [3, 1], [4, 1], [4, -1], [3, -1]), [3, 4, -1, 3, -1]);
  filter({ connection: 1 });
  assert.deepEqual([store.nextBad(-1, 1), store.positionOf(6)], [-1, 1]);
});

test('text shows invisible characters as their codes', async () => {
  const { hexDump, visible } = await load('dom.mjs');
  assert.equal(visible('a\u0000b\u202ec\u200bd\n\te'), 'a\\x00b\\u{202e}c\\u{200b}d\n\te');
  assert.equal(
    hexDump(Buffer.from('Hello, World! 12345')),
    '0000  48 65 6c 6c 6f 2c 20 57 6f 72 6c 64 21 20 31 32  Hello, World! 12\n' + `0010  33 34 35${' '.repeat(39)}  345`
  );
});
