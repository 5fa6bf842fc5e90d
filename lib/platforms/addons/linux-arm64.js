'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/linux-arm64/framemask.node'));
