"""A provider without a language model: it answers as OpenAI's API does, and records how much it would bill.

A prompt controls the answer: `key=alice call=7`, and optionally `fail` (status 500), `cut` (a stream that breaks off),
`wait` (until GET /go), `say=40` (tokens of answer). Each word is a token. The model `broken` always fails. The usage in
an answer can be missing (`silent`) or nonsense (`minus`); a stream can have 1,000 hidden tokens (`think`).

usage: python provider.py [latency in seconds]; it prints its port. GET /served returns the calls that it has served.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from aiohttp import web

SAYS = 50


class Provider:
    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.served: list[dict[str, Any]] = []
        self.may_go = asyncio.Event()

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        prompt = " ".join(str(message["content"]) for message in body["messages"])
        wishes = dict(word.split("=", 1) for word in prompt.split() if "=" in word)
        words = prompt.split()
        most = body.get("max_completion_tokens") or body.get("max_tokens") or 10_000
        record = {
            "key": wishes.get("key", "-"),
            "call": wishes.get("call", "-"),
            "prompt": len(words),
            "completion": 0,
            "state": "begun",
            "is_stream": bool(body.get("stream")),
        }
        self.served.append(record)
        await (self.may_go.wait() if "wait" in words else asyncio.sleep(self.latency))
        if "fail" in words or body["model"] == "broken":
            record.update(state="failed", prompt=0)
            return web.json_response({"error": {"message": "out of order", "type": "server_error"}}, status=500)
        count = min(int(wishes.get("say", SAYS)), most)
        if body.get("stream"):
            record["hidden"] = 1000 if "think" in words else 0
            return await self.stream(request, body, record, count, "cut" in words)
        # The work is done: the caller pays, whether or not the answer arrives.
        record.update(completion=count, state="served")
        message = {"role": "assistant", "content": "word " * count}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        told = {} if "silent" in words else {"usage": usage(record)}
        if "minus" in words:
            told["usage"]["completion_tokens"] *= -1000
        return web.json_response(self.envelope(body, "chat.completion", [choice]) | told)

    async def stream(
        self, request: web.Request, body: dict[str, Any], record: dict[str, Any], count: int, is_cut: bool
    ) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        for number in range(count):
            if is_cut and number == count // 2:
                record["state"] = "cut"
                assert request.transport is not None
                request.transport.abort()
                return answer
            choice = {"index": 0, "delta": {"role": "assistant", "content": "word "}, "finish_reason": None}
            record["completion"] = number + 1 + record["hidden"]
            try:
                await self.send(answer, self.envelope(body, "chat.completion.chunk", [choice]))
            except (ConnectionError, asyncio.CancelledError):
                record["state"] = "left"
                raise
            await asyncio.sleep(self.latency / 50)
        last = {"index": 0, "delta": {}, "finish_reason": "stop"}
        await self.send(answer, self.envelope(body, "chat.completion.chunk", [last]))
        if (body.get("stream_options") or {}).get("include_usage"):
            await self.send(answer, self.envelope(body, "chat.completion.chunk", []) | {"usage": usage(record)})
        record["state"] = "served"
        await answer.write(b"data: [DONE]\n\n")
        return answer

    def envelope(self, body: dict[str, Any], kind: str, choices: list[Any]) -> dict[str, Any]:
        return {"id": "x", "object": kind, "created": int(time.time()), "model": body["model"], "choices": choices}

    async def send(self, answer: web.StreamResponse, piece: dict[str, Any]) -> None:
        await answer.write(b"data: " + json.dumps(piece).encode() + b"\n\n")

    async def show(self, _: web.Request) -> web.Response:
        return web.json_response(self.served)

    async def go(self, _: web.Request) -> web.Response:
        self.may_go.set()
        return web.Response()


def usage(record: dict[str, Any]) -> dict[str, int]:
    prompt, completion = record["prompt"], record["completion"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


async def main(latency: float) -> None:
    provider = Provider(latency)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", provider.chat)
    app.router.add_get("/served", provider.show)
    app.router.add_get("/go", provider.go)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=2048)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.2))
