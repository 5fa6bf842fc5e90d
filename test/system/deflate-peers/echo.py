"""Echoes messages as a server or a client of PyPI's websockets. The argument is JSON:

{"takeover": false, "bits": 15, "streams": false}                       listens, and prints its port
{"connect": "ws://...", "takeover": true, "bits": 9, "streams": true}   ends when it has been closed
"""

import asyncio
import json
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosedOK
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory, ServerPerMessageDeflateFactory

asked = json.loads(sys.argv[1])


async def echo(socket):
    if not asked["streams"]:
        async for message in socket:
            await socket.send(message)
        return
    try:
        while True:
            await socket.send(aiter(socket.recv_streaming()))
    except ConnectionClosedOK:
        pass


def options(factory):
    bits = asked["bits"] if asked["bits"] < 15 else None
    alone = not asked["takeover"]
    extension = factory(
        server_no_context_takeover=alone,
        client_no_context_takeover=alone,
        server_max_window_bits=bits,
        client_max_window_bits=bits,
    )
    return {"extensions": [extension], "compression": None, "max_size": None}


async def main():
    if "connect" not in asked:
        server = await serve(echo, "127.0.0.1", 0, **options(ServerPerMessageDeflateFactory))
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()
    async with connect(asked["connect"], proxy=None, **options(ClientPerMessageDeflateFactory)) as socket:
        await socket.send("ready")
        await echo(socket)


asyncio.run(main())
