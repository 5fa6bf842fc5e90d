"""Echoes messages as a client or a server of PyPI's websockets. A line of JSON on stdin asks for either:

{"id": 1, "listen": true, "takeover": false, "bits": 15, "streams": false}  ->  {"id": 1, "port": 40000}
{"id": 2, "connect": "ws://...", "takeover": true, "bits": 9, "streams": true}  ->  {"id": 2} when it has been closed
"""

import asyncio
import json
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosedOK
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory, ServerPerMessageDeflateFactory


async def echo(socket):
    async for message in socket:
        await socket.send(message)


async def echo_streams(socket):
    try:
        while True:
            await socket.send(aiter(socket.recv_streaming()))
    except ConnectionClosedOK:
        pass


def echo_of(command):
    return echo_streams if command["streams"] else echo


def reply(answer):
    print(json.dumps(answer), flush=True)


def factory(command, create):
    bits = command["bits"]
    alone = not command["takeover"]
    return create(
        server_no_context_takeover=alone,
        client_no_context_takeover=alone,
        server_max_window_bits=bits if bits < 15 else None,
        client_max_window_bits=bits if bits < 15 else None,
    )


async def run(command):
    answer = {"id": command["id"]}
    options = {"compression": None, "max_size": None}
    try:
        if command.get("listen"):
            extension = factory(command, ServerPerMessageDeflateFactory)
            server = await serve(echo_of(command), "127.0.0.1", 0, extensions=[extension], **options)
            answer["port"] = server.sockets[0].getsockname()[1]
        else:
            extension = factory(command, ClientPerMessageDeflateFactory)
            async with connect(command["connect"], extensions=[extension], proxy=None, **options) as socket:
                await socket.send("ready")
                await echo_of(command)(socket)
    except Exception as error:
        answer["error"] = repr(error)
    reply(answer)


async def main():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks = set()
    while line := await reader.readline():
        task = asyncio.create_task(run(json.loads(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


asyncio.run(main())
