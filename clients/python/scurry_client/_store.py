"""The store over a blocking connection."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from . import _spans
from ._answer import answer
from ._command import Command
from ._commands import Answer
from ._connect import DEFAULT_URL, connection
from ._errors import Denied, ScurryError
from ._meter import Hold, Meter, Overrun, drive
from ._methods import SyncCommands
from ._retry import Attempts, Contact, Retry

R = TypeVar("R")


class Connection(Protocol):
    """The interface that this package needs of a `redis.Redis`, `redis.cluster.RedisCluster` or valkey-py client."""

    def execute_command(self, *args: Any, **options: Any) -> Any: ...


class Store(SyncCommands):
    """A Scurry server, cluster or group, over a client of redis-py or valkey-py.

    This package retries commands itself, so configure the connection with no retries (`Retry(NoBackoff(), 0)`) or few.
    Its retries would do no harm, since they send the same words.
    """

    def __init__(self, connection: Connection, *, retry: Retry | None = None) -> None:
        self.connection = connection
        self.retry = retry or Retry()
        self._contact = Contact()

    @classmethod
    def connect(cls, url: str = DEFAULT_URL, *, retry: Retry | None = None, **options: Any) -> Self:
        """Returns a store with its own client, of valkey-py for `valkey://` and of redis-py otherwise.

        The options are those of that client's `from_url`.
        """
        return cls(connection(url, is_awaited=False, **options), retry=retry)

    def close(self) -> None:
        """Closes the connection, if it can be closed."""
        if callable(close := getattr(self.connection, "close", None)):
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, command: Command[R]) -> R:
        """Sends a command and reads its answer; sends the same words again when the connection is lost."""
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
        overrun: Overrun | None = None,
        late_use: bool = True,
        id: str | None = None,
    ) -> Session:
        """Opens a charging session, for a `with` block: `hold` units are set aside at its start, or `Denied` is raised.

        `use` counts the units used. Leaving the block debits them and returns the rest, also after an exception. `ttl`
        is how long the session may stay silent, in seconds (20 minutes unless given here or to the server): then the
        server returns the hold by itself, so that a client that dies does not keep it for ever. `minimum` is the
        smallest hold worth having (all of it if omitted), and `holds` sets aside several items instead of one.
        `overrun` decides about use beyond the hold: it is debited, and makes a debt if the balance is too small
        ("overdraw"), is debited down to the floors ("clamp"), or not at all ("held"). `uncollected` is the rest. If the
        time to live has run out, use is debited late, unless `late_use` is False; "held" debits nothing late.
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

    def sessions(
        self,
        holds: Iterable[tuple[str, Hold | Sequence[Hold]]],
        *,
        ttl: float | None = None,
        overrun: Overrun | None = None,
        late_use: bool = True,
        id: str | None = None,
    ) -> Sessions:
        """Opens a charging session on each of several accounts, or on none, for a `with` block.

        `holds` names each account with its hold, or with a list of them: `[("alice", Hold("call", "cent", 50)), ...]`.
        The accounts may be on any threads and nodes. They are reserved in this order. If one is denied or refused, the
        sessions opened before are ended with no debit, and that error is raised; `Denied.account` names the account.
        If an answer is lost, the session in doubt is cancelled too, so that its RESERVE opens nothing if it arrives
        later: `store.run(error.command)` does not open it again.

        Leaving the block settles each session as `session` does, the last one first. If one is not settled, the others
        are still settled; the first error is raised, and has the others as notes. If the client dies, the holds end
        after `ttl`: choose a short one. All sessions have the same id, so an account occurs only once; other parameters
        are those of `session`.
        """
        found = meters(holds, id=id, ttl=ttl, overrun=overrun, late_use=late_use)
        return Sessions([Session(self, meter) for meter in found])


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


def meters(
    holds: Iterable[tuple[str, Hold | Sequence[Hold]]],
    *,
    id: str | None,
    ttl: float | None,
    overrun: Overrun | None,
    late_use: bool,
) -> list[Meter]:
    """Returns a meter for each account, all with one id. Refuses a second session with the same account and id."""
    id = id or uuid.uuid4().hex
    found: dict[str, Meter] = {}
    for account, held in holds:
        if account in found:
            raise ValueError(f"{account} occurs twice: give its holds as one list")
        items = [held] if isinstance(held, Hold) else held
        found[account] = Meter(account, items, id=id, ttl=ttl, overrun=overrun, late_use=late_use)
    return list(found.values())


class SessionState:
    """The part of a session's state that is known without asking the server."""

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
        """Reported use that no balance covered."""
        return self._meter.uncollected

    def held(self, item: str | int | None = None) -> int:
        """Returns the amount that the last answer granted."""
        return self._meter.item(item).held

    def left(self, item: str | int | None = None) -> int:
        """Returns the granted amount that is not used yet."""
        return self._meter.item(item).left

    def used(self, item: str | int | None = None) -> int:
        """Returns all use, reported or not."""
        return self._meter.item(item).used

    def use(self, amount: int, item: str | int | None = None) -> None:
        """Counts use. The next `extend` or `report`, or the end of the block, reports it; nothing is sent now."""
        self._meter.use(amount, item)


def note(error: BaseException, session: SessionState, why: ScurryError, *, what: str = "settled") -> None:
    """Adds a note to an exception that goes on although the session was not settled; its time to live ends the hold."""
    error.add_note(f"session {session.id} of {session.account} was not {what}: {why}")


def note_account(error: BaseException, session: SessionState) -> None:
    """Adds the account to an error that does not name it."""
    if isinstance(error, ScurryError) and not isinstance(error, Denied):
        error.add_note(f"the error is about session {session.id} of {session.account}")


class Session(SessionState):
    """A session of a `Store`. Only one thread at a time may use it."""

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
                note(error, self, why)

    def extend(
        self, amount: int, item: str | int | None = None, *, minimum: int | None = None, keep: bool = False
    ) -> int:
        """Reports use and adds `amount` to the unused rest of the hold. Returns the unused rest afterwards.

        Raises `Denied` when less than `minimum` more is available (all of it unless given). Without `keep` the session
        then holds the part that is available. With `keep` it then holds the unused rest as before and nothing more.
        The time to live restarts in both cases.
        """
        return drive(self._meter.extend(amount, item, minimum, keep), self._store.run)

    def report(self) -> Answer:
        """Reports use now, keeps the rest on hold, and restarts the time to live."""
        return drive(self._meter.report(), self._store.run)

    def settle(self) -> Answer | None:
        """Ends the session, as leaving the block does; returns None if it has already ended."""
        return drive(self._meter.settle(), self._store.run)

    def _cancel(self, error: BaseException) -> None:
        """Ends this session if it is in doubt whether it was opened."""
        try:
            drive(self._meter.cancel(), self._store.run)
        except ScurryError as why:
            note(error, self, why, what="cancelled")


class Sessions:
    """Sessions of a `Store` that open together or not at all."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self._sessions = tuple(sessions)
        self._opened = ExitStack()

    def __enter__(self) -> tuple[Session, ...]:
        with ExitStack() as opened:
            for session in self._sessions:
                try:
                    opened.enter_context(session)
                except BaseException as error:
                    note_account(error, session)
                    session._cancel(error)
                    raise
            self._opened = opened.pop_all()
        return self._sessions

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)
