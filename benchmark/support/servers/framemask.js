'use strict';

const { createEchoServer } = require('../../../examples/echo-server');

const server = createEchoServer().listen(0, '127.0.0.1', () => console.log(server.address().port));
