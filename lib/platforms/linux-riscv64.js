'use strict';

require('./addons/linux-riscv64');
module.exports = require('../../index.js');
