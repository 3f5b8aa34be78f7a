"""Reading the events of a store in order, from where the last reader stopped: docs/events.md describes the events."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from . import _commands as commands
from ._command import Command
from ._commands import Event, Events, Threshold
from ._errors import OutcomeUnknown, Unreachable

if TYPE_CHECKING:
    from . import aio
    from ._store import Store

OLDEST = "0"
"""The position of the oldest event that is kept."""
NEWEST = "$"
"""The position after the newest event."""


class Positions(Protocol):
    """Storage of a reader's position."""

    def load(self) -> str | None:
        """Returns the position that was saved last; None before the first."""

    def save(self, position: str) -> None: ...


class MemoryPositions:
    """A position in memory, which is lost when the process ends."""

    def __init__(self, position: str | None = None) -> None:
        self.position = position

    def load(self) -> str | None:
        return self.position

    def save(self, position: str) -> None:
        self.position = position


class FilePositions:
    """A position in a file that is replaced as a whole: after a crash it holds the old position or the new one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def load(self) -> str | None:
        try:
            return str(json.loads(self.path.read_text())["position"])
        except FileNotFoundError:
            return None

    def save(self, position: str) -> None:
        with tempfile.NamedTemporaryFile("w", dir=self.path.parent, prefix=self.path.name, delete=False) as file:
            json.dump({"position": position}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, self.path)


@dataclass(frozen=True, slots=True)
class Following:
    """The events that a reader asks for: thresholds, one account or all, and one thread of a server that has
    several."""

    low: Sequence[Threshold] = ()
    account: str | None = None
    thread: int | None = None
    count: int = 1000
    """Maximum number of events in a reply."""
    block_ms: int = 1000
    """How long the server waits for an event. Keep it below the timeout of the connection."""

    def command(self, position: str) -> Command[Events]:
        return commands.watch(
            position,
            thread=self.thread,
            count=self.count,
            block_ms=self.block_ms,
            account=self.account,
            low=self.low,
        )


def batches(
    store: Store, positions: Positions, following: Following | None = None, *, start: str = OLDEST
) -> Iterator[Events]:
    """Yields replies with events, for ever. The reader stores `next` of each, together with the results of its events.

    While the server is unreachable, the request is retried. Nothing is saved here: `positions` gives only the start.
    """
    asked = following or Following()
    position = positions.load() or start
    while True:
        try:
            reply = store.run(asked.command(position))
        except (Unreachable, OutcomeUnknown):
            # The request only reads, so it does not matter whether it was executed.
            time.sleep(store.retry.pause_max)
            continue
        position = reply.next
        if reply.events:
            yield reply


def events(
    store: Store, positions: Positions, following: Following | None = None, *, start: str = OLDEST
) -> Iterator[Event]:
    """Yields events one by one, for ever; after a failure from where the last reader stopped.

    The position is saved when the reader asks for the event after the last one of a reply. So a reader that dies sees
    the events of that reply again, with the same ids: effects that are keyed by the id happen once. The event `missed`
    says that the server no longer keeps the events in between.
    """
    for reply in batches(store, positions, following, start=start):
        yield from reply.events
        positions.save(reply.next)


async def batches_async(
    store: aio.Store, positions: Positions, following: Following | None = None, *, start: str = OLDEST
) -> AsyncIterator[Events]:
    """Like `batches`, over an asyncio store."""
    asked = following or Following()
    position = positions.load() or start
    while True:
        try:
            reply = await store.run(asked.command(position))
        except (Unreachable, OutcomeUnknown):
            await asyncio.sleep(store.retry.pause_max)
            continue
        position = reply.next
        if reply.events:
            yield reply


async def events_async(
    store: aio.Store, positions: Positions, following: Following | None = None, *, start: str = OLDEST
) -> AsyncIterator[Event]:
    """Like `events`, over an asyncio store."""
    async for reply in batches_async(store, positions, following, start=start):
        for event in reply.events:
            yield event
        positions.save(reply.next)
