'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/linux-ia32/framemask.node'));
