'use strict';

const { invalidType } = require('../shared/errors');

/** The functions that wait for an event: by emitter and event. */
const waiting = new WeakMap();

/**
 * Has a function called once, at the next event of an emitter or of an AbortSignal. All that wait
 * for the same share one listener: Node.js warns of more than ten.
 *
 * @returns {() => void} withdraws it
 */
function onceOf(emitter, event, callback) {
	const events = waiting.get(emitter) ?? {};
	waiting.set(emitter, events);
	const callbacks = events[event] ?? new Set();
	const callAll = () => {
		for (const each of callbacks) each();
	};
	if (callbacks.size === 0) {
		const isEmitter = typeof emitter.on === 'function';
		const [add, remove] = isEmitter ? ['on', 'off'] : ['addEventListener', 'removeEventListener'];
		emitter[add](event, callAll);
		callbacks.stop = () => emitter[remove](event, callAll);
		events[event] = callbacks;
	}
	callbacks.add(callback);
	return () => {
		if (callbacks.delete(callback) && callbacks.size === 0) callbacks.stop();
	};
}

/** Throws if an option `signal` is neither an AbortSignal nor left out. */
function checkSignal(signal) {
	if (signal !== undefined && typeof signal?.aborted !== 'boolean') {
		throw invalidType('options.signal', 'an AbortSignal', signal);
	}
}

module.exports = { checkSignal, onceOf };
