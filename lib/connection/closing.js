'use strict';

const { ABNORMAL, NO_STATUS } = require('../shared/protocol');

// How a connection ends (RFC 6455 sections 5.5.1, 7.1 and 7.2). It knows no socket and no codec: it
// is told of events, and answers with the steps that its owner is to take.

/** The state as programs see it: the numbers are those of a browser's WebSocket. */
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

/** The states within, in their order. */
const IS_OPEN = 0;
/** Our Close frame has been sent, or can't be any more; the peer's has not come. */
const BY_US = 1;
/** Both have been sent. A client waits for the server to end the transport. */
const WAITS_FOR_END = 2;
/** This endpoint ends the transport. */
const ENDS = 3;
const IS_OVER = 4;

/** Steps, which may be added: to send a Close frame, */
const SEND_CLOSE = 1;
/** and to end this endpoint's half of the transport, after all that has been sent. */
const END = 2;

/**
 * The closing handshake. From the first step on, the owner limits the time: "a client MAY initiate
 * the TCP Close" "after a reasonable amount of time" (section 7.1.1).
 */
class Closing {
	/** @param {'server' | 'client'} role */
	constructor(role) {
		this._isServer = role === 'server';
		this._state = IS_OPEN;
		/** The code and the reason for the program. */
		this.code = ABNORMAL;
		this.reason = '';
	}

	get readyState() {
		if (this._state === IS_OPEN) return OPEN;
		return this._state === IS_OVER ? CLOSED : CLOSING;
	}

	/** "MUST NOT send any more data frames after sending a Close frame" (section 5.5.1). */
	get maySend() {
		return this._state === IS_OPEN;
	}

	/**
	 * Whether frames are still read: messages may come between its own Close frame and the peer's, but
	 * not after an error (section 7.1.7).
	 */
	get mayRead() {
		return this._state <= BY_US;
	}

	get isOver() {
		return this._state === IS_OVER;
	}

	/**
	 * The program closes the connection (section 7.1.2). A second Close frame is never sent.
	 *
	 * @returns {number} steps
	 */
	close() {
		if (this._state !== IS_OPEN) return 0;
		this._state = BY_US;
		return SEND_CLOSE;
	}

	/**
	 * The peer's first Close frame has come: it is answered unless it is an answer. Then "the server MUST
	 * close the underlying TCP connection immediately; the client SHOULD wait for the server" (section
	 * 5.5.1).
	 *
	 * @param {number} code 1005 without one (section 7.1.5)
	 * @returns {number} steps
	 */
	receiveClose(code, reason) {
		if (this._state > BY_US) return 0;
		const answer = this._state === IS_OPEN ? SEND_CLOSE : 0;
		this._state = this._isServer ? ENDS : WAITS_FOR_END;
		this.code = code;
		this.reason = reason;
		return this._isServer ? answer | END : answer;
	}

	/**
	 * The peer has broken a rule, or this endpoint can't go on: it "SHOULD send a Close frame with an
	 * appropriate status code" first (section 7.1.7).
	 *
	 * @returns {number} steps
	 */
	fail() {
		if (this._state > BY_US) return 0;
		const isFirst = this._state === IS_OPEN;
		this._state = ENDS;
		return isFirst ? SEND_CLOSE | END : END;
	}

	/**
	 * The peer has ended its half of the transport, after the closing handshake or before it. Then no
	 * Close frame need be sent (section 7.1.7).
	 *
	 * @returns {number} steps
	 */
	endByPeer() {
		if (this._state >= ENDS) return 0;
		this._state = ENDS;
		return END;
	}

	/**
	 * The transport is gone, and bytes that came before are still to be read; nothing more can be
	 * sent (section 7.2.1).
	 */
	lose() {
		if (this._state === IS_OPEN) this._state = BY_US;
	}

	/** The program, or a time limit, drops the connection: the owner destroys the transport. */
	terminate() {
		if (this._state < ENDS) this._state = ENDS;
	}

	/**
	 * The transport is closed, and all has been read: "_The WebSocket Connection is Closed_" (section
	 * 7.1.4).
	 */
	finish() {
		this._state = IS_OVER;
	}
}

/** The code of the answer: "typically echos the status code it received" (section 5.5.1). */
const answerTo = (code) => (code === NO_STATUS ? undefined : code);

module.exports = { CLOSED, CLOSING, Closing, END, OPEN, SEND_CLOSE, answerTo };
