'use strict';

// framemask: the package, or the checkout that this folder is in.

const path = require('node:path');

/** @returns {boolean} whether an error says that there is no package of that name */
function isMissing(error, name) {
  return error.code === 'MODULE_NOT_FOUND' && error.message.includes(`'${name}'`);
}

function load() {
  try {
    return require('framemask');
  } catch (error) {
    if (!isMissing(error, 'framemask')) throw error;
    const checkout = path.join(__dirname, '../..');
    // Installed, that folder is another's.
    if (require(path.join(checkout, 'package.json')).name !== 'framemask') throw error;
    return require(checkout);
  }
}

module.exports = load();
