"""The store over an asyncio connection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from . import _spans
from ._answer import answer
from ._command import Command
from ._commands import Answer
from ._connect import DEFAULT_URL, connection
from ._errors import ScurryError
from ._meter import Hold, Meter, Overrun, drive_async
from ._methods import AsyncCommands
from ._retry import Attempts, Contact, Retry
from ._store import SessionState, meters, note, note_account, one_or_many

R = TypeVar("R")


class Connection(Protocol):
    """The interface that this package needs of a `redis.asyncio` or `valkey.asyncio` client."""

    async def execute_command(self, *args: Any, **options: Any) -> Any: ...


class Store(AsyncCommands):
    """Like `scurry_client.Store`, over a client of `redis.asyncio` or `valkey.asyncio`."""

    def __init__(self, connection: Connection, *, retry: Retry | None = None) -> None:
        self.connection = connection
        self.retry = retry or Retry()
        self._contact = Contact()

    @classmethod
    def connect(cls, url: str = DEFAULT_URL, *, retry: Retry | None = None, **options: Any) -> Self:
        """Like `scurry_client.Store.connect`, over a client of `valkey.asyncio` or `redis.asyncio`."""
        return cls(connection(url, is_awaited=True, **options), retry=retry)

    async def close(self) -> None:
        """Closes the connection, if it can be closed."""
        if callable(close := getattr(self.connection, "aclose", None)):
            await close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def run(self, command: Command[R]) -> R:
        """Sends a command and reads its answer; sends the same words again when the connection is lost."""
        with _spans.of_command(command):
            attempts = Attempts(command, self.retry, self._contact)
            while True:
                try:
                    raw = await self.connection.execute_command(*command.words, NEVER_DECODE=True)
                except Exception as error:
                    await asyncio.sleep(attempts.failed(error))
                else:
                    attempts.answered()
                    return answer(command, raw)

    def session(
        self,
        account: str,
        *,
        unit: str | None = None,
        item: str | int = "-",
        hold: int | None = None,
        minimum: int | None = None,
        holds: Sequence[Hold] = (),
        ttl: float | None = None,
        overrun: Overrun | None = None,
        late_use: bool = True,
        id: str | None = None,
    ) -> Session:
        """Opens a charging session, for an `async with` block: see `scurry_client.Store.session`."""
        meter = Meter(
            account,
            one_or_many(unit, item, hold, minimum, holds),
            id=id,
            ttl=ttl,
            overrun=overrun,
            late_use=late_use,
        )
        return Session(self, meter)

    def sessions(
        self,
        holds: Iterable[tuple[str, Hold | Sequence[Hold]]],
        *,
        ttl: float | None = None,
        overrun: Overrun | None = None,
        late_use: bool = True,
        id: str | None = None,
    ) -> Sessions:
        """Opens a charging session on each of several accounts, or on none, for an `async with` block: see
        `scurry_client.Store.sessions`."""
        found = meters(holds, id=id, ttl=ttl, overrun=overrun, late_use=late_use)
        return Sessions([Session(self, meter) for meter in found])


class Session(SessionState):
    """A session of a `Store`. Only one task at a time may use it."""

    def __init__(self, store: Store, meter: Meter) -> None:
        super().__init__(meter)
        self._store = store
        self._spans = ExitStack()

    async def __aenter__(self) -> Self:
        self._spans.enter_context(_spans.span("scurry session", self.account, operation="session", session=self.id))
        try:
            await drive_async(self._meter.open(), self._store.run)
        except BaseException as error:
            self._spans.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._spans:
            try:
                await self.settle()
            except ScurryError as why:
                if error is None:
                    raise
                note(error, self, why)

    async def extend(
        self, amount: int, item: str | int | None = None, *, minimum: int | None = None, keep: bool = False
    ) -> int:
        """Reports use and adds `amount` to the unused rest of the hold. Returns the unused rest afterwards.

        Raises `Denied` when less than `minimum` more is available (all of it unless given). Without `keep` the session
        then holds the part that is available. With `keep` it then holds the unused rest as before and nothing more.
        The time to live restarts in both cases.
        """
        return await drive_async(self._meter.extend(amount, item, minimum, keep), self._store.run)

    async def report(self) -> Answer:
        """Reports use now, keeps the rest on hold, and restarts the time to live."""
        return await drive_async(self._meter.report(), self._store.run)

    async def settle(self) -> Answer | None:
        """Ends the session, as leaving the block does; returns None if it has already ended."""
        return await drive_async(self._meter.settle(), self._store.run)

    async def _cancel(self, error: BaseException) -> None:
        """Ends this session if it is in doubt whether it was opened."""
        try:
            await drive_async(self._meter.cancel(), self._store.run)
        except ScurryError as why:
            note(error, self, why, what="cancelled")


class Sessions:
    """Sessions of a `Store` that open together or not at all."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self._sessions = tuple(sessions)
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> tuple[Session, ...]:
        async with AsyncExitStack() as opened:
            for session in self._sessions:
                try:
                    await opened.enter_async_context(session)
                except BaseException as error:
                    note_account(error, session)
                    await session._cancel(error)
                    raise
            self._opened = opened.pop_all()
        return self._sessions

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.__aexit__(kind, error, trace)
