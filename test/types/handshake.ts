import * as http from 'node:http';
import { acceptUpgrade, Decoder, Encoder, type NegotiatedDeflate, offerUpgrade, refuseUpgrade } from 'framemask';

http.createServer().on('upgrade', (request, socket, head) => {
  if (request.headers.origin !== 'https://example.org') {
    const refused: null = refuseUpgrade(socket, 403, { 'Retry-After': 1 });
    return refused;
  }
  const upgrade = acceptUpgrade(request, socket, head, {
    protocol: (offered) => offered.find((name) => name === 'chat'),
    deflate: { contextTakeover: true },
    headers: { 'X-Server': 'framemask' }
  });
  // @ts-expect-error: null for a request that was refused
  upgrade.deflate;
  if (upgrade === null) return;
  const deflate: NegotiatedDeflate | null = upgrade.deflate;
  new Encoder({ role: 'server', writable: socket, deflate });
  // @ts-expect-error: a subprotocol is a string
  acceptUpgrade(request, socket, head, { protocol: 1 });
});

const offer = offerUpgrade({ protocols: ['chat'], deflate: true });
http.get('http://localhost', { headers: offer.headers }).on('upgrade', (response, socket) => {
  const { deflate, protocol } = offer.readAnswer(response);
  const name: string = protocol;
  new Decoder({ role: 'client', deflate, onMessage: () => socket.end(name) });
});
// @ts-expect-error: an array
offerUpgrade({ protocols: 'chat' });
