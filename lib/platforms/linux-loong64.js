'use strict';

require('./addons/linux-loong64');
module.exports = require('../../index.js');
