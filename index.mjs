import framemask from './index.js';

export const {
  Decoder,
  Encoder,
  FrameError,
  acceptDeflate,
  formatFrameId,
  frameId,
  kernel,
  mask,
  nativeError,
  offerDeflate,
  parseFrameId,
  prepare,
  readInto,
  unmask
} = framemask;
export default framemask;
