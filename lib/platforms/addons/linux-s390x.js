'use strict';

require('../../masking/bundled-addon').load = () => require('../../../prebuilds/linux-s390x/framemask.node');
