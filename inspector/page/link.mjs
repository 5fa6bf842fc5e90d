// The page's selection, in its address after the token: the link shows the same again, while the
// inspector has the same frames.

const token = location.hash.slice(1).split('&')[0];

/** @param {Record<string, unknown>} selection */
export function writeLink({ frame, range, ...fields }) {
  const parts = new URLSearchParams(fields);
  if (frame !== -1) parts.set('frame', frame);
  if (range[1] !== Infinity) parts.set('range', range.join('-'));
  history.replaceState(null, '', `#${token}${`${parts}` === '' ? '' : `&${parts}`}`);
}

/** @returns {Record<string, unknown> | null} the address's selection; null if it says none */
export function readLink() {
  const [, ...parts] = location.hash.split('&');
  if (parts.length === 0) return null;
  const { frame, range, ...fields } = Object.fromEntries(new URLSearchParams(parts.join('&')));
  const numbers = /^(\d+)-(\d+)$/.exec(range ?? '');
  return {
    ...fields,
    frame: /^\d+$/.test(frame ?? '') ? Number(frame) : -1,
    range: numbers === null ? null : [Number(numbers[1]), Number(numbers[2])]
  };
}
