'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/linux-ppc64/framemask.node');
