'use strict';

const { runOutside } = require('../shared/outside');
const { Unsent } = require('./unsent');

/** How often the clock ticks within the time of a heartbeat: an event is late by a tick at most. */
const TICKS = 4;

/** The results of `tick`: the time for a Ping has come, */
const ASK = 1;
/** and as much time again has passed. */
const GIVE_UP = 2;

/** How long the peer of a stream, to whose 'data' somebody listens, has been silent. */
class Heartbeat {
	constructor(stream) {
		this._stream = stream;
		// Ticks since the last sign of the peer.
		this._silence = 0;
		// A socket counts its bytes itself.
		this._received = stream.bytesRead;
		if (this._received === undefined) stream.on('data', () => (this._silence = 0));
		this._unsent = new Unsent(stream);
	}

	/**
	 * The progress of a write is a sign of the peer, too.
	 *
	 * @returns {0 | ASK | GIVE_UP}
	 */
	tick() {
		const { bytesRead } = this._stream;
		if (bytesRead !== this._received) this._silence = 0;
		this._received = bytesRead;
		if (this._unsent.hasSent()) this._silence = 0;
		this._silence++;
		// The first tick comes at once after a sign, or up to a tick later.
		if (this._silence === TICKS + 1) return ASK;
		return this._silence > 2 * TICKS ? GIVE_UP : 0;
	}
}

/** The clocks by milliseconds: one for all connections of a thread with the same heartbeat. */
const clocks = new Map();

/** Has a function called for a connection with each tick. */
function joinClock(milliseconds, member, onTick) {
	if (!clocks.has(milliseconds)) {
		const members = new Map();
		const timer = runOutside(setInterval, tickAll, milliseconds / TICKS, members);
		// The sockets keep the process alive.
		timer.unref?.();
		clocks.set(milliseconds, { members, timer });
	}
	clocks.get(milliseconds).members.set(member, onTick);
}

function tickAll(members) {
	for (const [member, onTick] of members) onTick(member);
}

/** Leaves a clock, once. The last one stops it. */
function leaveClock(milliseconds, member) {
	const { members, timer } = clocks.get(milliseconds);
	members.delete(member);
	if (members.size > 0) return;
	clearInterval(timer);
	clocks.delete(milliseconds);
}

module.exports = { ASK, GIVE_UP, Heartbeat, joinClock, leaveClock };
