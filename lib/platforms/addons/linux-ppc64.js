'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/linux-ppc64/framemask.node'));
