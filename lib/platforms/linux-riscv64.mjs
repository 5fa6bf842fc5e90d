import './addons/linux-riscv64.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
