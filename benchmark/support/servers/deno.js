// Runs in Deno, on its own server. Deno delivers text as strings only.

const { tls } = JSON.parse(Deno.args[0]);

const options = { hostname: '127.0.0.1', port: 0, ...tls, onListen: ({ port }) => console.log(port) };
Deno.serve(options, (request) => {
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onmessage = ({ data }) => socket.send(data);
  return response;
});
