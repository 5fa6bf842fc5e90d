'use strict';

// The subscriber in a program: records of framemask:frame → an inspector.

const { subscribe, unsubscribe } = require('node:diagnostics_channel');
const { watchHandshakes } = require('./live-handshakes');
const { LiveSender } = require('./live-sender');
const { takePayload, watchPayloads } = require('./watch-payloads');

const CHANNEL = 'framemask:frame';
const MAX_PAYLOAD = 64 * 1024;

/**
 * @returns {{ url: URL, payload: number }} `payload` is how many bytes of each payload to add
 * @throws {Error} that says which of them is wrong
 */
function readSettings({ FRAMEMASK_INSPECTOR: address, FRAMEMASK_INSPECTOR_PAYLOAD: payload = '0' }) {
  if (!address) throw new Error('FRAMEMASK_INSPECTOR is not set: the inspector prints its address');
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url?.protocol !== 'ws:') throw new Error('FRAMEMASK_INSPECTOR is no ws: address');
  // Records go to this machine only.
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)) {
    throw new Error('FRAMEMASK_INSPECTOR is not an address of this machine');
  }
  if (!/^\d+$/.test(payload) || Number(payload) > MAX_PAYLOAD) {
    throw new Error(`FRAMEMASK_INSPECTOR_PAYLOAD is a number of bytes, up to ${MAX_PAYLOAD}`);
  }
  return { url, payload: Number(payload) };
}

/** Sends all records from now on. @returns {() => void} ends it */
function startLive({ url, payload }) {
  const sender = new LiveSender(url, stop);
  if (payload > 0) watchPayloads(payload);
  const unwatch = watchHandshakes((notice) => sender.send(notice));

  function onRecord(record) {
    const sent = { ...record };
    // An error's own message is no field that JSON has.
    if (record.error !== null) sent.error = { ...record.error, message: record.error.message };
    const beginning = payload > 0 ? takePayload(record) : null;
    if (beginning !== null) sent.payload = beginning.toString('base64');
    sender.send(sent);
  }

  function stop() {
    unsubscribe(CHANNEL, onRecord);
    unwatch();
    process.off('beforeExit', onExit);
  }

  const onExit = () => sender.finish();
  subscribe(CHANNEL, onRecord);
  process.on('beforeExit', onExit);
  return stop;
}

module.exports = { readSettings, startLive };
