'use strict';

const { FrameError, invalidType } = require('../shared/errors');
const { NegotiatedDeflate, DeflateSettings } = require('./agreement');
const { MAX_WINDOW_BITS, readHeader, writeParameters } = require('./parameters');

// index.d.ts documents the exports.

/** A server's answer to the extensions that a client offers (RFC 7692 section 7.1). */
function acceptDeflate(header, options = {}) {
  const settings = new DeflateSettings(options);
  if (header === undefined) return null;
  if (typeof header !== 'string') throw invalidType('header', 'a string or undefined', header);
  for (const offer of readHeader(header)?.elements ?? []) {
    const answer = offer === null ? null : answerOffer(offer, settings);
    if (answer !== null) return answer;
  }
  return null;
}

/** @returns {NegotiatedDeflate | null} null if the offer is declined */
function answerOffer(offer, settings) {
  const offeredServer = offer.server_max_window_bits ?? MAX_WINDOW_BITS;
  // "If the received extension negotiation offer doesn't have the client_max_window_bits extension
  // parameter, the ... response MUST NOT include" it (RFC 7692 section 7.1.2.2).
  const limitsClient = settings.clientWindowBits < MAX_WINDOW_BITS;
  if (limitsClient && offer.client_max_window_bits === null) return null;

  const offeredClient =
    typeof offer.client_max_window_bits === 'number' ? offer.client_max_window_bits : MAX_WINDOW_BITS;
  const serverBits = Math.min(offeredServer, settings.serverWindowBits);
  const clientBits = Math.min(offeredClient, settings.clientWindowBits);
  const answer = {
    server_no_context_takeover: offer.server_no_context_takeover || !settings.contextTakeover,
    client_no_context_takeover: offer.client_no_context_takeover || !settings.contextTakeover,
    server_max_window_bits: offer.server_max_window_bits !== null || serverBits < MAX_WINDOW_BITS ? serverBits : null,
    client_max_window_bits: limitsClient ? clientBits : null
  };
  return new NegotiatedDeflate(answer, clientBits, settings);
}

class DeflateOffer {
  constructor(options) {
    this._settings = new DeflateSettings(options);
    const { contextTakeover, serverWindowBits, clientWindowBits } = this._settings;
    this._offer = {
      server_no_context_takeover: !contextTakeover,
      client_no_context_takeover: !contextTakeover,
      server_max_window_bits: serverWindowBits < MAX_WINDOW_BITS ? serverWindowBits : null,
      // Without a value it says that the server may choose.
      client_max_window_bits: clientWindowBits < MAX_WINDOW_BITS ? clientWindowBits : true
    };
    this.header = writeParameters(this._offer);
  }

  /** Reads the server's answer (RFC 7692 section 7.1). */
  readAnswer(header) {
    if (header === undefined) return null;
    if (typeof header !== 'string') throw invalidType('header', 'a string or undefined', header);
    const read = readHeader(header);
    if (read === null) throw badAnswer('it is malformed');
    if (read.others !== 0 || read.elements.length !== 1) throw badAnswer('it has extensions that were not offered');
    const [answer] = read.elements;
    const fault = answer === null ? 'it has parameters that are not valid' : findFault(this._offer, answer);
    if (fault !== null) throw badAnswer(fault);
    const { clientWindowBits } = this._settings;
    return new NegotiatedDeflate(answer, answer.client_max_window_bits ?? clientWindowBits, this._settings);
  }
}

/**
 * "A client MUST _Fail the WebSocket Connection_ if the peer server accepted an extension
 * negotiation offer for this extension with an extension negotiation response meeting any of" (RFC
 * 7692 section 7.1): parameters that do not answer the offer.
 */
function findFault(offer, answer) {
  if (offer.server_no_context_takeover && !answer.server_no_context_takeover) {
    return 'it lacks server_no_context_takeover';
  }
  if (offer.server_max_window_bits !== null) {
    const bits = answer.server_max_window_bits ?? MAX_WINDOW_BITS;
    if (bits > offer.server_max_window_bits) return 'server_max_window_bits is larger than offered';
  }
  const { client_max_window_bits: clientBits } = answer;
  if (clientBits === true) return 'client_max_window_bits lacks a value';
  if (clientBits !== null && offer.client_max_window_bits !== true && clientBits > offer.client_max_window_bits) {
    return 'client_max_window_bits is larger than offered';
  }
  return null;
}

function badAnswer(fault) {
  return new FrameError('EXTENSIONS', 1002, `The server's answer to the offer of permessage-deflate: ${fault}`);
}

function offerDeflate(options = {}) {
  return new DeflateOffer(options);
}

module.exports = { acceptDeflate, offerDeflate };
