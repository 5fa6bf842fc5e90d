'use strict';

// For test/codec/structure.js alone, until it names the other file itself.
module.exports = require('../../test/support/modules');
