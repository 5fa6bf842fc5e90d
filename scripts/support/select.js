'use strict';

/**
 * What a program's --only asks for.
 *
 * @template Item
 * @param {string} kind what an item is called when a name is refused
 * @param {Item[]} items all that there are
 * @param {string[] | undefined} only names, some of them with commas between; undefined for all
 * @param {(item: Item) => string} [nameOf]
 * @returns {Item[]} in the order of `items`
 * @throws {RangeError} if there is no such name
 */
function select(kind, items, only, nameOf = ({ name }) => name) {
  if (only === undefined) return items;
  const wanted = only.flatMap((list) => list.split(','));
  const names = items.map(nameOf);
  const unknown = wanted.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new RangeError(`no ${kind} ${unknown.join(', ')}; there are ${names.join(', ')}`);
  return items.filter((item) => wanted.includes(nameOf(item)));
}

module.exports = { select };
