'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/win32-x64/framemask.node'));
