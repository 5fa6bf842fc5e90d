"""Echoes WebSocket messages: an application of ASGI."""


async def app(scope, receive, send):
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept"})
    while True:
        event = await receive()
        if event["type"] == "websocket.disconnect":
            return
        await send({"type": "websocket.send", "bytes": event.get("bytes"), "text": event.get("text")})
