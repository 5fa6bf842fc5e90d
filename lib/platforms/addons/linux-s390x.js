'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/linux-s390x/framemask.node'));
