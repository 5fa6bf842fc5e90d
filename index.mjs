import framemask from './index.js';

export const { kernel, mask, nativeError, unmask } = framemask;
export default framemask;
