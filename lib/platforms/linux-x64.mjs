import './addons/linux-x64.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
