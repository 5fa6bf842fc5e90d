'use strict';

const ws = require('ws');
const { exchange, note, openedOf } = require('./exchange.cjs');

test('messages arrive', async () => {
  note(await exchange(ws), openedOf(ws));
});
