import framemask from './index.js';

export const {
  Decoder,
  Encoder,
  FrameError,
  formatFrameId,
  frameId,
  kernel,
  mask,
  nativeError,
  parseFrameId,
  prepare,
  readInto,
  unmask
} = framemask;
export default framemask;
