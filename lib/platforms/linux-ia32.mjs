import './addons/linux-ia32.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
