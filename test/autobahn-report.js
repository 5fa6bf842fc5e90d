'use strict';

// How scripts/autobahn.js selects cases and judges their results.

const t = require('tap');
const {
  ALL,
  QUICK,
  QUICK_DEFLATE,
  WITH_DEFLATE,
  informationalOf,
  judge,
  select
} = require('../scripts/autobahn/cases');

t.test('select gives the ids of cases for patterns', (t) => {
  t.equal(select(['*']).length, 301);
  t.same(select(['7.1.*', '2.1', '2.1', '9.*.9']), [
    '2.1',
    '7.1.1',
    '7.1.2',
    '7.1.3',
    '7.1.4',
    '7.1.5',
    '7.1.6',
    '9.3.9',
    '9.4.9'
  ]);
  t.same(select(['1.2.*1']), ['1.2.1'], 'a pattern matches the whole id');
  t.throws(() => select(['2.1', '8.*']), RangeError);
  t.ok(select(QUICK).length > 100, 'the quick cases');
  t.equal(select(['*'], ALL).length, 517);
  t.equal(select(['*'], WITH_DEFLATE).length, 216);
  t.ok(select(QUICK_DEFLATE, WITH_DEFLATE).length > 20, 'the quick cases of permessage-deflate');
  t.end();
});

t.test('judge reports each case that is missing, has failed or was not asked for', (t) => {
  const verdict = (behavior, behaviorClose = 'OK') => ({ behavior, behaviorClose });
  const good = { 2.1: verdict('OK'), '7.1.6': verdict('INFORMATIONAL', 'INFORMATIONAL') };
  t.same(judge(good, ['2.1', '7.1.6']), {
    counts: new Map([
      ['OK', 1],
      ['INFORMATIONAL', 1]
    ]),
    failures: []
  });
  const info = { 2.1: verdict('OK', 'INFORMATIONAL'), 2.2: verdict('INFORMATIONAL'), 2.3: verdict('OK') };
  t.same(judge(info, ['2.1', '2.2', '2.3'], informationalOf(info)).failures, [], 'as the reference');
  t.same(judge(info, ['2.1', '2.2', '2.3']).failures, ['2.1 OK, closing INFORMATIONAL', '2.2 INFORMATIONAL']);
  t.same(judge({}, ['2.1']).failures, ['2.1 MISSING, closing MISSING']);
  t.same(judge(good, ['2.1']).failures, ['7.1.6 was not asked for']);
  t.same(judge({ 2.1: verdict('OK', 'UNCLEAN') }, ['2.1']).failures, ['2.1 OK, closing UNCLEAN']);
  for (const behavior of ['NON-STRICT', 'FAILED', 'UNIMPLEMENTED', 'WRONG CODE', 'INFORMATIONAL', 'CONSTRUCTOR']) {
    t.same(judge({ 2.1: verdict(behavior) }, ['2.1']).failures, [`2.1 ${behavior}`], behavior);
  }
  t.end();
});
