'use strict';

require('./addons/linux-ia32');
module.exports = require('../../index.js');
