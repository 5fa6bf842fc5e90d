'use strict';

const custom = Symbol.for('nodejs.util.inspect.custom');

/**
 * Makes `util.inspect` and `console.log` show the public state of a class's objects: some getters,
 * and the fields whose names do not begin with an underscore.
 */
function showPublicState(Class, getters) {
	Object.defineProperty(Class.prototype, custom, { value: publicState, configurable: true, writable: true });

	function publicState() {
		// An object of the same class, for the name that is printed, but without this method.
		const shown = Object.create(Object.getPrototypeOf(this), { [custom]: { value: undefined } });
		const fields = Object.keys(this).filter((name) => !name.startsWith('_'));
		for (const name of [...getters, ...fields]) {
			Object.defineProperty(shown, name, { value: this[name], enumerable: true });
		}
		return shown;
	}
}

module.exports = { showPublicState };
