'use strict';

// An npm registry on this machine that has only the given tarballs.

const { createHash } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { manifestOf } = require('./tarball');

/** Old, because some managers refuse versions that are only some days old. */
const PUBLISHED = '2020-01-01T00:00:00.000Z';

/** @returns {string} a hash of a tarball, for its metadata */
function digest(bytes, algorithm, encoding) {
  return createHash(algorithm).update(bytes).digest(encoding);
}

/**
 * Adds a version to the metadata of a package.
 *
 * @param {object | undefined} known the metadata with other versions
 * @param {object} manifest the package.json of the version
 * @param {Buffer} bytes the tarball
 * @param {string} address of the tarball
 * @returns {object}
 */
function describe(known, manifest, bytes, address) {
  const { name, version } = manifest;
  const dist = {
    tarball: address,
    shasum: digest(bytes, 'sha1', 'hex'),
    integrity: `sha512-${digest(bytes, 'sha512', 'base64')}`
  };
  return {
    name,
    'dist-tags': { latest: version },
    versions: { ...known?.versions, [version]: { ...manifest, dist } },
    time: { created: PUBLISHED, modified: PUBLISHED, ...known?.time, [version]: PUBLISHED }
  };
}

/**
 * @param {string[]} tarballs
 * @returns {Promise<{ address: string, close: () => void }>}
 */
async function startRegistry(tarballs) {
  const answers = new Map();
  const server = http.createServer(({ url }, response) => {
    const answer = answers.get(decodeURIComponent(url.split('?')[0]));
    if (answer === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}');
    } else {
      const isTarball = Buffer.isBuffer(answer);
      const type = isTarball ? 'application/octet-stream' : 'application/json';
      response.writeHead(200, { 'content-type': type }).end(isTarball ? answer : JSON.stringify(answer));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${server.address().port}`;
  for (const tarball of tarballs) {
    const manifest = manifestOf(tarball);
    const bytes = fs.readFileSync(tarball);
    const place = `/${manifest.name}/-/${path.basename(tarball)}`;
    answers.set(place, bytes);
    const metadata = `/${manifest.name}`;
    answers.set(metadata, describe(answers.get(metadata), manifest, bytes, address + place));
  }
  return {
    address,
    close() {
      server.closeAllConnections();
      server.close();
    }
  };
}

module.exports = { startRegistry };
