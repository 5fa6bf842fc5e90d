import assert = require('node:assert');
import framemask = require('framemask/prebuilds/linux-x64');

const key = Buffer.from([1, 2, 3, 4]);
const bytes = new Uint8Array(200);
framemask.unmask(bytes, key);
assert.ok(bytes.every((byte: number, i: number) => byte === key[i & 3]));
const kernel: framemask.Kernel = framemask.kernel;
assert.strictEqual(framemask.nativeError, null);
console.log(JSON.stringify({ kernel }));
