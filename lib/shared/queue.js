'use strict';

/**
 * Items that wait for the one in front of them. An array's shift() would take time in proportion to
 * its length: 200,000 messages took 25 s.
 */
class Queue {
	constructor() {
		this._items = [];
		this._first = 0;
	}

	get length() {
		return this._items.length - this._first;
	}

	/** The item that was added last; undefined if the queue is empty. */
	get last() {
		return this._items.at(-1);
	}

	/** The item in front; undefined if the queue is empty. */
	get first() {
		return this._items[this._first];
	}

	push(item) {
		this._items.push(item);
	}

	/** Takes the item in front; null if the queue is empty. */
	shift() {
		if (this._first === this._items.length) return null;
		const item = this._items[this._first];
		this._items[this._first++] = null;
		// Each item is moved once at most for each that has left.
		if (this._first * 2 > this._items.length) {
			this._items.splice(0, this._first);
			this._first = 0;
		}
		return item;
	}
}

module.exports = { Queue };
