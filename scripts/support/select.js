'use strict';

/** @param {string | { name: string }} item @returns {string} the name by which --only selects it */
const nameOf = (item) => item.name ?? item;

/**
 * Selects what --only names.
 *
 * @param {string} kind what the error calls an item
 * @param {(string | { name: string })[]} items
 * @param {string[] | undefined} only names, which may be separated by commas; undefined selects all
 * @throws {RangeError} if there is no such name
 */
function select(kind, items, only) {
  if (only === undefined) return items;
  const wanted = only.flatMap((list) => list.split(','));
  const names = items.map(nameOf);
  const unknown = wanted.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new RangeError(`no ${kind} ${unknown.join(', ')}; there are ${names.join(', ')}`);
  return items.filter((item) => wanted.includes(nameOf(item)));
}

module.exports = { nameOf, select };
