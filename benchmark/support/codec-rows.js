'use strict';

const decode = require('../decode');
const encode = require('../encode');
const masking = require('../masking');
const ws = require('./ws-rows');

/** @returns {object[]} the rows of decode.js, encode.js, masking.js and ws-rows.js, with names such as `decode: text 16 B` */
function listRows(sizes) {
  const prefixed = (prefix, { ROWS, ofFramemask }) =>
    ROWS.map((row) => ({ ...row, name: `${prefix}: ${row.name}`, ofFramemask }));
  const sized = masking.listRows(sizes).map((row) => ({
    ...row,
    name: row.name.replace(' ', ': '),
    ofFramemask: (framemask) => framemask
  }));
  return [...prefixed('decode', decode), ...prefixed('encode', encode), ...prefixed('ws', ws), ...sized];
}

module.exports = { listRows };
