"""A store in memory, for the tests of programs that use the client. No server, no network, a clock that you set.

    from scurry_client import Store
    from scurry_client.fake import FakeConnection

    store = Store(FakeConnection())

It follows the rules of the server, and the scenario scripts of the server show that. What it does not do it says by
name, as a NotImplementedError: allowances of buckets, sums near 64 bits, entities, events and statements, dumps, and
the plain commands of Redis. It keeps nothing, and one thread at a time may use it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ._server import Fake, ResponseError
from ._values import Bounds

__all__ = ["AsyncFakeConnection", "Bounds", "Clock", "FakeConnection", "ResponseError"]


class Clock:
    """A clock that stands still until it is told to go on; in UTC milliseconds."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)


def wall_clock() -> int:
    return time.time_ns() // 1_000_000


class FakeConnection:
    """Stands where a client of redis-py does. `lost` may make a request or an answer disappear."""

    def __init__(
        self,
        clock: Callable[[], int] = wall_clock,
        *,
        bounds: Bounds | None = None,
        unique_kinds: Sequence[str] = (),
    ) -> None:
        self._fake = Fake(clock, bounds or Bounds(), unique_kinds)

    def execute_command(self, *words: Any, **options: Any) -> Any:
        return self._fake.execute(words)

    def tick(self) -> int:
        """Does what is due in all accounts, as the server's timers do; how many changes that were."""
        return self._fake.tick()

    def close(self) -> None:
        """There is nothing to close."""


class AsyncFakeConnection:
    """Stands where a client of `redis.asyncio` does; over the accounts of a `FakeConnection`."""

    def __init__(self, connection: FakeConnection | None = None) -> None:
        self.sync = connection or FakeConnection()

    async def execute_command(self, *words: Any, **options: Any) -> Any:
        return self.sync.execute_command(*words, **options)

    async def aclose(self) -> None:
        """There is nothing to close."""
