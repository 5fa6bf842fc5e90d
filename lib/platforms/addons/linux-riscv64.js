'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/linux-riscv64/framemask.node'));
