import './addons/linux-arm-armv7.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
