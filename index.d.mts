import framemask from './index.js';

export * from './index.js';
export default framemask;
