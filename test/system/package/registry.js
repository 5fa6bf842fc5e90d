'use strict';

// An npm registry on this machine that has only the tarballs of a folder.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { listen } = require('../../support/free-port');
const { manifestOf } = require('./tarball');

/** Old, because some managers refuse versions that are only some days old. */
const PUBLISHED = '2020-01-01T00:00:00.000Z';

/** @returns {Promise<{ address: string, close: () => void }>} */
async function startRegistry(folder) {
  const answers = new Map();
  const server = http.createServer(({ url }, response) => {
    const answer = answers.get(decodeURIComponent(url.split('?')[0]));
    const isTarball = Buffer.isBuffer(answer);
    const type = isTarball ? 'application/octet-stream' : 'application/json';
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': type });
    response.end(isTarball ? answer : JSON.stringify(answer ?? { error: 'not found' }));
  });
  const address = `http://127.0.0.1:${await listen(server)}`;
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith('.tgz'))) {
    const tarball = path.join(folder, file);
    const manifest = manifestOf(tarball);
    const { name, version } = manifest;
    const bytes = fs.readFileSync(tarball);
    const place = `/${name}/-/${file}`;
    const known = answers.get(`/${name}`);
    const dist = {
      tarball: address + place,
      shasum: createHash('sha1').update(bytes).digest('hex'),
      integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    };
    answers.set(place, bytes);
    answers.set(`/${name}`, {
      name,
      'dist-tags': { latest: version },
      versions: { ...known?.versions, [version]: { ...manifest, dist } },
      time: { created: PUBLISHED, modified: PUBLISHED, ...known?.time, [version]: PUBLISHED }
    });
  }
  return { address, close: () => server.close().closeAllConnections() };
}

module.exports = { startRegistry };
