import framemask from './index.js';

export const {
	Connection,
	Decoder,
	Encoder,
	FrameError,
	acceptDeflate,
	acceptHttp2,
	acceptUpgrade,
	drained,
	formatFrameId,
	frameId,
	kernel,
	mask,
	messages,
	nativeError,
	offerDeflate,
	offerUpgrade,
	overHttp2,
	parseFrameId,
	prepare,
	refuseUpgrade,
	sendStream,
	shutDown,
	unmask,
	WebSocketError,
	WebSocketStream
} = framemask;
export default framemask;
