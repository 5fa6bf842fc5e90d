'use strict';

/**
 * Memory that a module keeps for its next use, since fresh memory costs more than its use. A
 * handler may call the module again while a piece is in use, so that several can be in use at once.
 * Pieces come as their last use left them.
 */
class Pool {
	constructor(create, capacity) {
		this._create = create;
		this._capacity = capacity;
		this._free = [];
	}

	acquire() {
		return this._free.pop() ?? this._create();
	}

	release(piece) {
		if (this._free.length < this._capacity) this._free.push(piece);
	}
}

module.exports = { Pool };
