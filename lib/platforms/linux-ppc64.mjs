import './addons/linux-ppc64.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
