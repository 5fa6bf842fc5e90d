'use strict';

/**
 * The name of the method by which `util.inspect` and `console.log` ask an object what to show
 * (node:util).
 */
const custom = Symbol.for('nodejs.util.inspect.custom');

/**
 * Makes `util.inspect` and `console.log` show the public state of a class's objects: some getters,
 * and the fields whose names do not begin with an underscore.
 *
 * @param {string[]} getters their names
 */
function showPublicState(Class, getters) {
  Object.defineProperty(Class.prototype, custom, { value: publicState, configurable: true, writable: true });

  /** @this {object} */
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
