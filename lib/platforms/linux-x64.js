'use strict';

require('./addons/linux-x64');
module.exports = require('../../index.js');
