'use strict';

// The parts of the inspector's page that need no browser: which rows the filters leave, and text.
// npm run test:inspector has the others.

const path = require('node:path');
const { pathToFileURL } = require('node:url');
const t = require('tap');

const load = (name) => import(pathToFileURL(path.join(__dirname, '../../inspector/page', name)).href);

/** A row: frame `i` of the client, with the given columns. */
const row = (i, { connection = 0, server = 0, opcode = 1, length = 5, state = 0 } = {}) => [
  connection,
  server,
  i + 1,
  null,
  opcode,
  1,
  length,
  0,
  5,
  state,
  0,
  ''
];

/** @returns a store with ten rows */
async function createStore() {
  const { Store, noFilters } = await load('store.mjs');
  const store = new Store();
  store.append([
    row(0),
    row(1, { opcode: 9, length: 0 }),
    row(2, { opcode: 2, length: 70_000, server: 1 }),
    row(3, { opcode: 11, state: 1 }),
    row(4, { opcode: -1, length: -1, state: 1 }),
    row(5, { connection: 1 }),
    row(6, { opcode: 8, length: 2, connection: 1 })
  ]);
  const shown = (filters) => {
    store.setFilters({ ...noFilters(), ...filters });
    return store.shown;
  };
  return { store, shown };
}

t.test('each filter leaves what it names, and several together', async (t) => {
  const { shown } = await createStore();
  t.same(shown({}), [0, 1, 2, 3, 4, 5, 6]);
  t.same(shown({ opcodes: new Set([8, 9]) }), [1, 6]);
  t.same(shown({ opcodes: new Set([3, -1]) }), [3, 4], 'reserved opcodes, and unknown ones');
  t.same(shown({ min: 3 }), [0, 2, 3, 5]);
  t.same(shown({ min: 1, max: 5 }), [0, 3, 5, 6]);
  t.same(shown({ connection: 1 }), [5, 6]);
  t.same(shown({ sender: 1 }), [2]);
  t.same(shown({ verdict: 1 }), [3, 4]);
  t.same(shown({ verdict: 1, opcodes: new Set([3]) }), [3]);
});

t.test('rows that come later are filtered, too', async (t) => {
  const { store, shown } = await createStore();
  shown({ opcodes: new Set([9]) });
  store.append([row(7, { opcode: 9 }), row(8)]);
  t.same(store.shown, [1, 7]);
  store.change([[0, row(0, { opcode: 9 })]]);
  t.same(store.shown, [0, 1, 7]);
});

t.test('a search leaves what it has found', async (t) => {
  const { store, shown } = await createStore();
  store.setFound([0, 3, 6]);
  t.same(store.shown, [0, 3, 6]);
  t.same(shown({ connection: 1 }), [6]);
  store.append([row(7, { connection: 1 })]);
  t.same(store.shown, [6], 'a row that was not searched');
  store.setFound(null);
  t.same(store.shown, [5, 6, 7]);
});

t.test('the next bad row is found in both directions', async (t) => {
  const { store, shown } = await createStore();
  t.equal(store.nextBad(-1, 1), 3);
  t.equal(store.nextBad(3, 1), 4);
  t.equal(store.nextBad(4, 1), -1);
  t.equal(store.nextBad(4, -1), 3);
  t.equal(store.nextBad(3, -1), -1);
  shown({ connection: 1 });
  t.equal(store.nextBad(-1, 1), -1, 'of those that are shown');
  t.equal(store.positionOf(6), 1);
});

t.test('text shows what is invisible as its code', async (t) => {
  const { asText, hexDump, visible } = await load('dom.mjs');
  t.equal(visible('a\u0000b\u202ec\u200bd\n\te'), 'a\\x00b\\u{202e}c\\u{200b}d\n\te');
  t.equal(asText(Buffer.from('Wörld')), 'Wörld');
  t.equal(asText(Buffer.from([0xff])), '\ufffd');
  t.equal(
    hexDump(Buffer.from('Hello, World! 12345')),
    '000000  48 65 6c 6c 6f 2c 20 57 6f 72 6c 64 21 20 31 32  Hello, World! 12\n' +
      `000010  33 34 35${' '.repeat(39)}  345`
  );
});
