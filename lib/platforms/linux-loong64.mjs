import './addons/linux-loong64.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
