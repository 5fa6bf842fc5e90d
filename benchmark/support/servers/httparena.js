'use strict';

// One process of the entry for HttpArena, for the kind of connections in its first argument.

const { createServer } = require('../../../examples/httparena/server');

const server = createServer(process.argv[2]).listen(0, '127.0.0.1', () => console.log(server.address().port));
