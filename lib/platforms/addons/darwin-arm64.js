'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/darwin-arm64/framemask.node'));
