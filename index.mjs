import framemask from './index.js';

export const {
	Connection,
	Decoder,
	Encoder,
	FrameError,
	acceptDeflate,
	acceptHttp2,
	acceptUpgrade,
	formatFrameId,
	frameId,
	kernel,
	mask,
	nativeError,
	offerDeflate,
	offerUpgrade,
	overHttp2,
	parseFrameId,
	prepare,
	refuseUpgrade,
	shutDown,
	unmask
} = framemask;
export default framemask;
