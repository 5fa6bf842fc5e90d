'use strict';

require('./addons/linux-arm-armv6');
module.exports = require('../../index.js');
