'use strict';

// The answers to a page: the details of a frame, copies, searches, files, and sources that it
// opens.

const { copyOf } = require('./copy');
const { detailOf } = require('./detail');
const { exportFrames } = require('./export');
const { search } = require('./search');

/** By the type of a request; `body` is a Buffer. */
const ANSWERS = {
  detail: ({ session }, { index, count }) => detailOf(session, index, count),
  copy: ({ session }, { index, part }) => copyOf(session, index, part),
  search({ session }, { query }, _body, isWanted) {
    const { generation } = session;
    return search(session, String(query), () => isWanted() && generation === session.generation);
  },
  open(inspector, { name, from, format, add }, data) {
    return inspector.open({ data, name: String(name ?? '').slice(0, 200), from, format, add: add === true });
  },
  sample: (inspector) => inspector.openSample(),
  clear: (inspector) => inspector.clear()
};

/**
 * @param {unknown} request from the page: its `type`, and fields @param {Buffer} body
 * @param {() => boolean} isWanted whether the page waits for the answer
 * @throws {Error} that the page shows
 */
async function answerPage(inspector, request, body, isWanted) {
  const { type, ...fields } = request ?? {};
  if (type === 'export') return { file: exportFrames(inspector.session, fields.format, JSON.parse(body)) };
  if (!Object.hasOwn(ANSWERS, type)) throw new TypeError('The page sent an unknown request');
  return { answer: await ANSWERS[type](inspector, fields, body, isWanted) };
}

module.exports = { answerPage };
