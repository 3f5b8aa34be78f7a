"""The store over a connection that is waited for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeVar

from . import _spans
from ._answer import answer
from ._command import Command
from ._commands import Answer
from ._connect import DEFAULT_URL, connection
from ._errors import ScurryError
from ._meter import Hold, Meter, drive
from ._methods import SyncCommands
from ._retry import Attempts, Contact, Retry

R = TypeVar("R")


class Connection(Protocol):
    """What a `redis.Redis`, a `redis.cluster.RedisCluster` or a client of valkey-py is for this package."""

    def execute_command(self, *args: Any, **options: Any) -> Any: ...


class Store(SyncCommands):
    """A Scurry server, or a cluster or group of them, over a client of redis-py or valkey-py.

    Repetitions are this package's own: give the connection none (`Retry(NoBackoff(), 0)`), or few. They would do
    no harm, since they send the same words.
    """

    def __init__(self, connection: Connection, *, retry: Retry | None = None) -> None:
        self.connection = connection
        self.retry = retry or Retry()
        self._contact = Contact()

    @classmethod
    def connect(cls, url: str = DEFAULT_URL, *, retry: Retry | None = None, **options: Any) -> Self:
        """A store over a client of its own, of valkey-py for `valkey://` and else of redis-py.

        The options are those of that client's `from_url`.
        """
        return cls(connection(url, is_awaited=False, **options), retry=retry)

    def close(self) -> None:
        """Closes the connection, where it can be closed."""
        if callable(close := getattr(self.connection, "close", None)):
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, command: Command[R]) -> R:
        """Sends a command, again and again with the same words where the connection is lost, and reads the answer."""
        with _spans.of_command(command):
            attempts = Attempts(command, self.retry, self._contact)
            while True:
                try:
                    raw = self.connection.execute_command(*command.words, NEVER_DECODE=True)
                except Exception as error:
                    time.sleep(attempts.failed(error))
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
        overrun: Literal["overdraw", "clamp"] | None = None,
        late_use: bool = True,
        id: str | None = None,
    ) -> Session:
        """A charging session, for a `with` block: `hold` units are set aside when it begins, or `Denied` is raised.

        `use` counts what was used. Leaving the block debits that and gives the rest back, after an exception too.
        `ttl` is how long the session may stay silent, in seconds (20 minutes unless given here or to the server): then
        the server gives the hold back by itself, so that a client that dies holds nothing for ever. `minimum` is the
        least hold worth having (all of it where it is left out), and `holds` are several items in the place of one.
        `overrun` says what becomes of use beyond what the account has. Where the time to live ran out, use is debited
        late, unless `late_use` is False.
        """
        meter = Meter(
            account,
            one_or_many(unit, item, hold, minimum, holds),
            id=id,
            ttl=ttl,
            overrun=overrun,
            late_use=late_use,
        )
        return Session(self, meter)


def one_or_many(
    unit: str | None, item: str | int, hold: int | None, minimum: int | None, holds: Sequence[Hold]
) -> Sequence[Hold]:
    if holds:
        if unit is not None or hold is not None or minimum is not None:
            raise ValueError("say hold and unit, or holds")
        return holds
    if unit is None or hold is None:
        raise ValueError("say how much to hold, and of which unit")
    return (Hold(item, unit, hold, minimum),)


class SessionState:
    """What a session knows without asking the server."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    @property
    def account(self) -> str:
        return self._meter.account

    @property
    def id(self) -> str:
        return self._meter.id

    @property
    def is_open(self) -> bool:
        return self._meter.is_open

    @property
    def uncollected(self) -> int:
        """Reported use that was debited from nothing."""
        return self._meter.uncollected

    def held(self, item: str | int | None = None) -> int:
        """What the last answer granted."""
        return self._meter.item(item).held

    def left(self, item: str | int | None = None) -> int:
        """What of it was not used yet."""
        return self._meter.item(item).left

    def used(self, item: str | int | None = None) -> int:
        """What was used, reported or not."""
        return self._meter.item(item).used

    def use(self, amount: int, item: str | int | None = None) -> None:
        """Counts use, which the next `extend` or `report` or the end of the block reports. Nothing is sent."""
        self._meter.use(amount, item)


def note(error: BaseException, session: str, why: ScurryError) -> None:
    """An exception goes on although the session could not be ended; its time to live ends the hold."""
    error.add_note(f"session {session} was not settled: {why}")


class Session(SessionState):
    """A session of a `Store`. One thread at a time may use it."""

    def __init__(self, store: Store, meter: Meter) -> None:
        super().__init__(meter)
        self._store = store
        self._spans = ExitStack()

    def __enter__(self) -> Self:
        self._spans.enter_context(_spans.span("scurry session", self.account, operation="session", session=self.id))
        try:
            drive(self._meter.open(), self._store.run)
        except BaseException as error:
            self._spans.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._spans:
            try:
                self.settle()
            except ScurryError as why:
                if error is None:
                    raise
                note(error, self.id, why)

    def extend(self, amount: int, item: str | int | None = None, *, minimum: int | None = None) -> int:
        """Reports use, and holds so much more beside what is left; what is left afterwards.

        `Denied` where less than `minimum` more could be had (all of it unless given). What could be had is held.
        """
        return drive(self._meter.extend(amount, item, minimum), self._store.run)

    def report(self) -> Answer:
        """Reports use now, goes on holding what is left, and begins the time to live again."""
        return drive(self._meter.report(), self._store.run)

    def settle(self) -> Answer | None:
        """Ends the session, as leaving the block does; None where it has ended."""
        return drive(self._meter.settle(), self._store.run)
