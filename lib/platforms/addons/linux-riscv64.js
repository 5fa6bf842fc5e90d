'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/linux-riscv64/framemask.node');
