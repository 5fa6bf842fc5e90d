'use strict';

// An npm registry on this machine that has the tarballs of a folder, and what is published there.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { json } = require('node:stream/consumers');
const { listen } = require('../../support/free-port');
const { manifestOf } = require('./tarball');

/** Old, because some managers refuse versions that are only some days old. */
const PUBLISHED = '2020-01-01T00:00:00.000Z';

/**
 * @param {string} folder whose tarballs it has
 * @param {string} published the tarball there that it does not have until it is published
 * @returns {Promise<{ address: string, close: () => void }>}
 */
async function startRegistry(folder, published) {
  const answers = new Map();
  let address;

  /**
   * Adds a version of a package.
   *
   * @returns {boolean} false if it is there
   */
  function add({ name, version, ...manifest }, bytes) {
    const known = answers.get(`/${name}`);
    if (known?.versions[version] !== undefined) return false;
    const place = `/${name}/-/${version}.tgz`;
    const dist = {
      tarball: address + place,
      shasum: createHash('sha1').update(bytes).digest('hex'),
      integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    };
    answers.set(place, bytes);
    answers.set(`/${name}`, {
      name,
      'dist-tags': { latest: version },
      versions: { ...known?.versions, [version]: { ...manifest, name, version, dist } },
      time: { created: PUBLISHED, modified: PUBLISHED, ...known?.time, [version]: PUBLISHED }
    });
    return true;
  }

  /**
   * Takes a version and its tarball, as `npm publish` sends them.
   *
   * @returns {boolean} false if it is there
   */
  function takeVersion({ versions, _attachments: attachments }) {
    const [[manifest], [{ data }]] = [versions, attachments].map(Object.values);
    const bytes = Buffer.from(data, 'base64');
    const sent = createHash('sha512').update(bytes).digest('base64');
    if (manifest.dist.integrity !== `sha512-${sent}`) throw new Error('the tarball is not the one that npm has read');
    return add(manifest, bytes);
  }

  const server = http.createServer(async (request, response) => {
    let answer = answers.get(decodeURIComponent(request.url.split('?')[0]));
    let status = answer === undefined ? 404 : 200;
    if (request.method === 'PUT') {
      status = takeVersion(await json(request)) ? 201 : 409;
      answer = status === 201 ? {} : { error: 'this version was previously published' };
    }
    const isTarball = Buffer.isBuffer(answer);
    const type = isTarball ? 'application/octet-stream' : 'application/json';
    response.writeHead(status, { 'content-type': type });
    response.end(isTarball ? answer : JSON.stringify(answer ?? { error: 'not found' }));
  });
  address = `http://127.0.0.1:${await listen(server)}`;
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith('.tgz'))) {
    const tarball = path.join(folder, file);
    if (tarball !== published) add(manifestOf(tarball), fs.readFileSync(tarball));
  }
  return { address, close: () => server.close().closeAllConnections() };
}

module.exports = { startRegistry };
