import assert from 'node:assert';
import framemask, { type Kernel, kernel, nativeError, unmask } from 'framemask/prebuilds/linux-x64';

const key = Buffer.from([1, 2, 3, 4]);
const bytes = new Uint8Array(200);
unmask(bytes, key);
assert.ok(bytes.every((byte: number, i: number) => byte === key[i & 3]));
const name: Kernel = framemask.kernel;
assert.strictEqual(name, kernel);
assert.strictEqual(nativeError, null);
console.log(JSON.stringify({ kernel: name }));
