'use strict';

const { answerTo } = require('./closing');
const { throwLater } = require('../shared/call-in-order');

// The handlers of Decoders. `this.context` is the Endpoint. None of them throws.

/** The options of the Decoder of an Endpoint. */
function decoderOptions(endpoint, role, deflate, trace) {
  const { settings } = endpoint;
  const options = { ...settings.ofDecoder, role, deflate, trace, context: endpoint };
  Object.assign(options, { onPing, onPong, onClose, onError });
  if (settings.onMessage !== undefined) options.onMessage = onMessage;
  if (settings.onPart !== undefined) options.onPart = onPart;
  else options.onMessage ??= () => {};
  if (deflate !== null) options.onInflated = onInflated;
  return options;
}

/** As `Endpoint.call`: it takes most of the messages, and `apply` longer. */
function onMessage(data, isBinary) {
  const { connection, settings } = this.context;
  try {
    settings.onMessage.call(connection, data, isBinary);
  } catch (error) {
    throwLater(error);
  }
}

function onPart(data, isBinary, isLast) {
  this.context.call('onPart', data, isBinary, isLast);
}

function onPing(payload) {
  this.context.answer(payload);
  this.context.call('onPing', payload);
}

function onPong(payload) {
  this.context.call('onPong', payload);
}

function onClose(code, reason) {
  this.context.follow(this.context.closing.receiveClose(code, reason), answerTo(code));
}

function onError(error) {
  this.context.follow(this.context.closing.fail(), error.closeCode);
  this.context.call('onError', error);
}

function onInflated() {
  this.context.run(() => {});
}

module.exports = { decoderOptions };
