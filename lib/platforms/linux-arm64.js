'use strict';

require('./addons/linux-arm64');
module.exports = require('../../index.js');
