'use strict';

const { channel } = require('node:diagnostics_channel');

/** Subscribes to a channel while `work` runs, which is synchronous. */
function withSubscriber(name, subscriber, work) {
  const subject = channel(name);
  subject.subscribe(subscriber);
  try {
    work();
  } finally {
    subject.unsubscribe(subscriber);
  }
}

/** @returns {object[]} the records that are published on a channel while `work` runs */
function published(name, work) {
  const records = [];
  withSubscriber(name, (record) => records.push(record), work);
  return records;
}

module.exports = { published, withSubscriber };
