'use strict';

require('./addons/darwin-arm64');
module.exports = require('../../index.js');
