'use strict';

require('./addons/linux-ppc64');
module.exports = require('../../index.js');
