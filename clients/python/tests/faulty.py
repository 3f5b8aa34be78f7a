"""A connection that loses the request or the answer when a test tells it to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis


class Faulty:
    """Asks `plan` about each attempt: None lets it through, `request` loses the request, `answer` loses the answer."""

    def __init__(self, connection: Any, plan: Callable[[int, tuple[Any, ...]], str | None]) -> None:
        self.connection = connection
        self.plan = plan
        self.sent: list[tuple[Any, ...]] = []

    def execute_command(self, *words: Any, **options: Any) -> Any:
        fate = self.plan(len(self.sent), words)
        self.sent.append(words)
        if fate == "refused":
            raise redis.ConnectionError("refused") from ConnectionRefusedError()
        if fate == "request":
            raise redis.ConnectionError("lost before it arrived")
        reply = self.connection.execute_command(*words, **options)
        if fate == "answer":
            raise redis.TimeoutError("lost on its way back")
        return reply
