'use strict';

require('./addons/linux-s390x');
module.exports = require('../../index.js');
