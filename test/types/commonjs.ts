// How a TypeScript program that compiles to CommonJS uses the package. It is checked, not run.

import framemask = require('framemask');

import { type Kernel, kernel, mask, nativeError, unmask } from 'framemask';

const key = new Uint8Array([0x37, 0xfa, 0x21, 0x3d]);
const shared = new Uint8Array(new SharedArrayBuffer(8));
const output = Buffer.alloc(16);

let phase: number = mask(Buffer.from('Hello'), key, output, 0, 5);
phase = mask(shared, key, output, 5, shared.length, phase);
phase = unmask(output, key);
phase = framemask.unmask(output, key, phase);

const name: Kernel = kernel;
const reason: string | undefined = nativeError?.message;
console.log(name, reason);

// @ts-expect-error: a key is bytes
mask(output, 0x37fa213d, output, 0, 5);
// @ts-expect-error: so is what it is applied to
unmask('Hello', key);
// @ts-expect-error: the length can't be left out
mask(output, key, output, 0);
// @ts-expect-error: wider elements are no bytes
unmask(new Uint32Array(4), key);
// @ts-expect-error: it may be null
console.log(nativeError.message);
// @ts-expect-error: no such kernel
const unknown: Kernel = 'mmx';
console.log(unknown);
