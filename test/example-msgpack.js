'use strict';

const path = require('node:path');
const t = require('tap');
const { example, run } = require('./support/connections');
const { TRIES_ALL } = require('./support/sample');

t.test('each record arrives as it was sent', async (t) => {
  const good = await run([example('msgpack.js')]);
  t.equal(good.stderr, '');
  t.match(good.stdout, /^1000 records, \d+\.\d MB in frames, \d+ ms: all came as sent\n$/);
  t.equal(good.code, 0);

  // It must find a flipped bit.
  const folder = t.testdir({
    'flip.js': `const framemask = require(${JSON.stringify(path.join(__dirname, '../index.js'))});
      framemask.Decoder = class extends framemask.Decoder {
        constructor(options) {
          const { onMessage } = options;
          super({ ...options, onMessage(data, isBinary) { data[data.length - 1] ^= 1; onMessage(data, isBinary); } });
        }
      };`
  });
  const bad = await run(['--require', path.join(folder, 'flip.js'), example('msgpack.js')]);
  t.match(bad, { stdout: '', stderr: /\S/, code: 1 });
});

// The codec's own tests have tried it in JavaScript.
if (TRIES_ALL && !process.env.FRAMEMASK_KERNEL) {
  t.spawn(process.execPath, [__filename], { env: { ...process.env, FRAMEMASK_KERNEL: 'js' } }, 'in JavaScript');
}
