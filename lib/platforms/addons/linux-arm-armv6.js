'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/linux-arm/framemask.armv6.node'));
