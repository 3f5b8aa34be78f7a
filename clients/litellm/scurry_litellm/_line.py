"""Connections that carry the commands of many calls at a time.

A proxy under a burst has hundreds of commands to send, and each iteration of its event loop is slow. With a connection
for each command they would wait for connections, iteration after iteration. Here all waiting commands are sent in one
batch, and their replies arrive together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

BATCH_MAX = 256


class Line:
    """Stands in for a `redis.asyncio` client and sends the commands in batches; `connections` limits the batches in
    progress."""

    def __init__(self, client: Any, connections: int) -> None:
        self.client = client
        self.connections = connections
        self.waiting: deque[tuple[asyncio.Future[Any], tuple[Any, ...], dict[str, Any]]] = deque()
        self.carriers: set[asyncio.Task[None]] = set()

    async def execute_command(self, *words: Any, **options: Any) -> Any:
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.waiting.append((reply, words, options))
        if len(self.carriers) < self.connections:
            carrier = asyncio.ensure_future(self._carry())
            self.carriers.add(carrier)
            carrier.add_done_callback(self.carriers.discard)
        return await reply

    async def _carry(self) -> None:
        """Sends batches until no command is waiting."""
        while self.waiting:
            batch = [self.waiting.popleft() for _ in range(min(len(self.waiting), BATCH_MAX))]
            # A command that was cancelled while it waited is not sent.
            batch = [one for one in batch if not one[0].done()]
            try:
                replies = await self._sent(batch)
            except BaseException as why:
                # It is not known how much of the batch was executed: each caller sends its own words again.
                lost = why if isinstance(why, Exception) else ConnectionError("the proxy stops")
                replies = [lost] * len(batch)
                if not isinstance(why, Exception):
                    raise
            finally:
                for (reply, _, _), answer in zip(batch, replies, strict=True):
                    if reply.done():
                        continue
                    if isinstance(answer, Exception):
                        reply.set_exception(answer)
                    else:
                        reply.set_result(answer)

    async def _sent(self, batch: list[tuple[asyncio.Future[Any], tuple[Any, ...], dict[str, Any]]]) -> list[Any]:
        if not batch:
            return []
        async with self.client.pipeline(transaction=False) as pipeline:
            for _, words, options in batch:
                pipeline.execute_command(*words, **options)
            replies: list[Any] = await pipeline.execute(raise_on_error=False)
            return replies

    async def aclose(self) -> None:
        await self.client.aclose()
