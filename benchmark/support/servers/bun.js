// Runs in Bun, on its own server. Bun delivers text as strings only.

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request, self) {
    return self.upgrade(request) ? undefined : new Response('', { status: 400 });
  },
  websocket: {
    // Bun drops what its send buffer can't hold. This limit is never reached here.
    backpressureLimit: 1 << 30,
    message(socket, data) {
      socket.send(data);
    }
  }
});
console.log(server.port);
