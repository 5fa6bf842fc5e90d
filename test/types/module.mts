// How an ES module uses the package. It is checked, not run.

import framemask, { type Kernel, kernel, mask, nativeError, unmask } from 'framemask';

const key = new Uint8Array([0x37, 0xfa, 0x21, 0x3d]);
const output = new Uint8Array(16);

let phase: number = mask(output, key, output, 0, output.length);
phase = unmask(output.subarray(3), key, phase);
phase = framemask.mask(output, key, output, 0, 5, phase);

const name: Kernel = framemask.kernel;
const reason: Error | null = nativeError;
console.log(name === kernel, reason, phase);

// @ts-expect-error: bytes, not a buffer of them
unmask(new ArrayBuffer(4), key);
// @ts-expect-error: the kernel is chosen once
framemask.kernel = 'js';
