import './addons/linux-arm64.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
