import framemask from './index.js';

export const {
  Decoder,
  Encoder,
  FrameError,
  acceptDeflate,
  acceptUpgrade,
  formatFrameId,
  frameId,
  kernel,
  mask,
  nativeError,
  offerDeflate,
  offerUpgrade,
  parseFrameId,
  prepare,
  readInto,
  refuseUpgrade,
  unmask
} = framemask;
export default framemask;
