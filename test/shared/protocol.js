'use strict';

const assert = require('node:assert/strict');
const t = require('tap');
const { isSendableCloseCode } = require('../../lib/shared/protocol');

// acceptsFirstByte is tested in test/codec/header.js, beside readHeader, which names the rule that
// is broken.

t.test('7.4: isSendableCloseCode knows each of 65,536 codes', (t) => {
  const mayBeSent = (code) =>
    [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014].includes(code) ||
    (code >= 3000 && code < 5000);
  for (let code = 0; code < 65536; code++) assert.equal(isSendableCloseCode(code), mayBeSent(code), `code ${code}`);
  t.end();
});
