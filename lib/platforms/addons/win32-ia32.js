'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/win32-ia32/framemask.node');
