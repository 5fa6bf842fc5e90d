'use strict';

const { Buffer } = require('../shared/buffers');
const { throwLater } = require('../shared/call-in-order');
const { invalidType, outOfRange } = require('../shared/errors');
const { checkObject, readTime } = require('../shared/option-names');
const { isSendableCloseCode } = require('../shared/protocol');

/** "1012 ... the service is restarted" (IANA's registry of close codes). */
const SERVICE_RESTART = 1012;
const MAX_REASON = 123;

const OPEN = 1;
const CLOSED = 3;

/** Milliseconds from step to step, and how long a step may take: others want the thread, too. */
const STEP = 10;
const MAX_STEP = 2;

/** @throws {TypeError | RangeError} for options that can't be taken */
function readShutDown(options) {
	checkObject(options);
	const { code = SERVICE_RESTART, reason = '' } = options;
	if (!isSendableCloseCode(code)) throw outOfRange('options.code', 'a close code that may be sent', code);
	if (typeof reason !== 'string') throw invalidType('options.reason', 'a string', reason);
	if (Buffer.byteLength(reason) > MAX_REASON) throw outOfRange('options.reason', 'at most 123 bytes long', reason);
	return { within: readTime(options, 'within'), code, reason };
}

/**
 * Closes connections one after the other, over the first two thirds of the time, so that their
 * peers do not all come back at once; terminates those that are left when the time is over: see
 * index.d.ts.
 */
async function shutDown(connections, options) {
	const { within, code, reason } = readShutDown(options);
	const list = [...connections];
	const result = { closed: list.length, terminated: 0, droppedBytes: 0 };
	const began = performance.now();
	const elapsed = () => performance.now() - began;
	// How many have got a Close frame, and how many of the first have ended.
	let sent = 0;
	let ended = 0;
	while (ended < list.length && elapsed() < within) {
		const due = Math.min(list.length, Math.ceil((list.length * elapsed() * 3) / (within * 2)));
		const before = performance.now();
		const hasTime = () => performance.now() - before < MAX_STEP;
		while (sent < due && hasTime()) {
			const one = list[sent++];
			if (one.readyState === OPEN) attempt(() => one.close(code, reason));
		}
		while (ended < sent && list[ended].readyState === CLOSED && hasTime()) ended++;
		if (ended < list.length) await wait(hasTime() ? Math.min(STEP, within - elapsed()) : 0);
	}
	for (let i = ended, before = performance.now(); i < list.length; i++) {
		const one = list[i];
		if (one.readyState === CLOSED) continue;
		result.terminated++;
		result.droppedBytes += one.bufferedAmount;
		attempt(() => one.terminate());
		if (performance.now() - before < MAX_STEP) continue;
		await wait(0);
		before = performance.now();
	}
	result.closed -= result.terminated;
	return result;
}

/** A stream of the program's own may throw from `write`: the others are closed all the same. */
function attempt(act) {
	try {
		act();
	} catch (error) {
		throwLater(error);
	}
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

module.exports = { readShutDown, shutDown };
