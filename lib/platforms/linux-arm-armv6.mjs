import './addons/linux-arm-armv6.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
