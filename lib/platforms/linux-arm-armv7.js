'use strict';

require('./addons/linux-arm-armv7');
module.exports = require('../../index.js');
