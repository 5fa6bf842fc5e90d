'use strict';

const { version } = require('ws/package.json');

/**
 * What `npm run test:system -- ws-versions` runs tests on lacks what came later. A test of that
 * asks first.
 *
 * @param {string} wanted such as 8.21.0
 * @returns {boolean} whether the tests run on that version of `ws`, or on a newer one
 */
function hasWs(wanted) {
  return version.localeCompare(wanted, 'en', { numeric: true }) >= 0;
}

module.exports = { hasWs };
