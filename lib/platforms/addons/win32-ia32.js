'use strict';

require('../../masking/native').provideAddon(() => require('../../../prebuilds/win32-ia32/framemask.node'));
