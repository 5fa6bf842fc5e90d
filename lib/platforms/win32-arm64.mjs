import './addons/win32-arm64.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
