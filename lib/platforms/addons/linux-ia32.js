'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/linux-ia32/framemask.node');
