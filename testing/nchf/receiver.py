"""Receives notifications of Nchf, for Hypercorn (ASGI): prints each as a line of JSON and answers 204.

usage: hypercorn --bind 127.0.0.1:0 receiver:app
"""

import json


async def app(scope, receive, send):
    """Answers one request."""
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    received = {
        "version": scope["http_version"],
        "scheme": scope["scheme"],
        "request": f"{scope['method']} {scope['path']}",
        "content_type": headers.get("content-type"),
        "callback": headers.get("3gpp-sbi-callback"),
        "body": json.loads(body),
    }
    print(json.dumps(received), flush=True)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})
