'use strict';

// The direction of imports: everything imports test/support, which imports the library and the
// tools of scripts/support. The build loads nothing from test/. Layers of lib/ call one way.

const t = require('tap');
const { filesOf, requiresOf } = require('./support/modules');

const PUBLIC = /^(lib\/|index\.m?js$|ws\.m?js$|package\.json$)/;
const SUPPORT = /^test\/support\//;
const EXAMPLES = /^examples\//;
const SHARED = [PUBLIC, SUPPORT, /^scripts\/support\//, EXAMPLES];

/**
 * The files of each folder, and those that they may import. The first that fits a file counts.
 *
 * @type {[RegExp, RegExp[]][]}
 */
const DIRECTIONS = [
  [/^lib\/shared\//, [/^lib\/shared\//]],
  [/^lib\/masking\//, [/^lib\/(masking|shared)\//]],
  [/^lib\/codec\//, [/^lib\/(codec|deflate|masking|shared)\//, /^lib\/tracing\.js$/]],
  [/^lib\/deflate\//, [/^lib\/(deflate|shared)\//]],
  [/^lib\/sockets\//, [/^lib\/(sockets|codec|masking|shared)\//]],
  [
    /^lib\/connection\//,
    [/^lib\/(connection|streams|sockets|codec|shared)\//, /^lib\/(client-handshake|handshake|tracing|frame-id)\.js$/]
  ],
  [/^lib\/streams\//, [/^lib\/(streams|shared)\//]],
  [/^lib\/handshake\.js$/, [/^lib\/(deflate|shared)\//]],
  [/^lib\/client-handshake\.js$/, [/^lib\/shared\//, /^lib\/handshake\.js$/]],
  [/^lib\//, [PUBLIC, /^prebuilds\//]],
  [/^scripts\//, [PUBLIC, /^scripts\//]],
  [SUPPORT, SHARED],
  [/^test\/system\//, [...SHARED, /^test\/system\//, /^scripts\/prebuild\//, /^build\//]],
  [/^test\//, [...SHARED, /^build\//]],
  [/^examples\/rooms\/test\//, SHARED],
  [/^examples\//, [PUBLIC, EXAMPLES]],
  [/^fuzz\//, [...SHARED, /^fuzz\//]],
  [/^benchmark\//, [...SHARED, /^benchmark\//]],
  [/^inspector\//, [...SHARED, /^inspector\//]]
];

t.test('imports go one way', async (t) => {
  const folders = ['lib', 'scripts', 'test', 'examples', 'fuzz', 'benchmark', 'inspector'];
  const files = folders.flatMap((folder) => filesOf(folder, /\.[cm]?js$/));
  const wrong = files.flatMap((file) => {
    const [, allowed] = DIRECTIONS.find(([folder]) => folder.test(file));
    const imported = requiresOf(file).filter((name) => !allowed.some((folder) => folder.test(name)));
    return imported.map((name) => `${file}: ${name}`);
  });
  t.same(wrong, []);
  t.ok(files.some((file) => requiresOf(file).length > 2));
});
