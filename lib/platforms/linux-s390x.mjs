import './addons/linux-s390x.js';

export * from '../../index.mjs';
export { default } from '../../index.mjs';
