"""A charging session without a connection: the commands that it sends, and the handling of their answers.

Each operation is a generator that yields commands and receives their answers. Its driver blocks or awaits, so the rules
exist only once. A request without an answer is in doubt; the next operation first sends its words again, so that no use
is reported twice and none is left out.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from . import _commands as commands
from ._answer import denial
from ._command import Command
from ._commands import Answer, OutOfWindow, ReserveItem, TerminateItem, UnknownSession, UpdateItem
from ._errors import Denied, OutcomeUnknown, Refused, ScurryError, Unreachable

R = TypeVar("R")
Overrun = Literal["overdraw", "clamp", "held"]
"""The treatment of use that no hold covers: a debt, up to the floors, or nothing beyond the hold."""
REMEMBERED = 200.0
"""Seconds for which the client relies on the server to remember a finished session (the server remembers it for
240)."""
Flow = Generator[Command[Answer], Answer, R]


@dataclass(frozen=True, slots=True)
class Hold:
    """The amount that a session sets aside for one item. Without a `minimum`, the server grants all of it or
    nothing."""

    item: str | int
    unit: str
    amount: int
    minimum: int | None = None


@dataclass(slots=True)
class Item:
    """The state of one item: the amount that it holds, and its use, by how much of it has reached the server."""

    key: str | int
    unit: str
    held: int = 0
    unreported: int = 0
    in_flight: int = 0
    """Use reported by a request without an answer yet."""
    reported: int = 0

    @property
    def left(self) -> int:
        return max(0, self.held - self.unreported - self.in_flight)

    @property
    def used(self) -> int:
        return self.unreported + self.in_flight + self.reported


@dataclass(slots=True)
class Request:
    """A request that was sent, with the use that it reports."""

    command: Command[Answer]
    used: dict[str, int] = field(default_factory=dict)
    keeps: bool = False
    """Whether a denied item keeps its hold."""
    sent: float = field(default_factory=time.monotonic)


class Meter:
    def __init__(
        self,
        account: str,
        holds: Sequence[Hold],
        *,
        id: str | None,
        ttl: float | None,
        overrun: Overrun | None,
        late_use: bool,
    ) -> None:
        self.account = account
        self.holds = tuple(holds)
        self.id = id or uuid.uuid4().hex
        self.tcc_ms = None if ttl is None else whole_ms(ttl)
        self.overrun = overrun
        self.late_use = late_use
        self.items = {str(hold.item): Item(hold.item, hold.unit) for hold in holds}
        if len(self.items) != len(self.holds):
            raise ValueError("two items of one session have the same key")
        self.number = 0
        self.is_open = False
        self.uncollected = 0
        self.in_doubt: Request | None = None
        """A request that lost its answer: its words are sent again before anything else."""
        self.gone: tuple[Request, UnknownSession] | None = None
        """A request that found its session closed, with the error. An earlier attempt may have succeeded and lost its
        answer."""

    # ---- Calls without a request -----------------------------------------------------------

    def use(self, amount: int, item: str | int | None) -> None:
        if amount < 0:
            raise ValueError("what is used is 0 or more")
        self.item(item).unreported += amount

    def item(self, key: str | int | None) -> Item:
        if key is not None:
            return self.items[str(key)]
        if len(self.items) != 1:
            raise ValueError(f"name the item: the session has {', '.join(self.items)}")
        return next(iter(self.items.values()))

    # ---- Operations ------------------------------------------------------------------------

    def open(self) -> Flow[Answer]:
        asked = [
            ReserveItem(hold.item, hold.unit, hold.amount, hold.amount if hold.minimum is None else hold.minimum)
            for hold in self.holds
        ]
        command = commands.reserve(
            self.account,
            self.id,
            self.number,
            tcc_ms=self.tcc_ms,
            overrun=self.overrun,
            closeondenial=len(asked) > 1,
            items=asked,
        )
        return (yield from self.ask(Request(command)))

    def extend(self, amount: int, key: str | int | None, minimum: int | None, keep: bool) -> Flow[int]:
        """Adds `amount` to the hold and returns the unused rest of it. Raises `Denied` if less than `minimum` more is
        available: the available part is held, or with `keep` the unused rest as before."""
        yield from self.resolve()
        item = self.item(key)
        more = amount if minimum is None else minimum
        least = item.left + more
        request = self.update({str(item.key): amount}, {str(item.key): more} if keep else None)
        answer = yield from self.ask(request)
        if item.held < least:
            # The server does not deny a part that it granted, nor a request of which other items were granted.
            raise denial_of_item(request.command, answer, item)
        return item.left

    def report(self) -> Flow[Answer]:
        """Reports the use, keeps the rest on hold, and restarts the time to live."""
        yield from self.resolve()
        return (yield from self.ask(self.update({})))

    def cancel(self) -> Flow[None]:
        """Ends a session whose RESERVE is in doubt: if the RESERVE arrives later, it opens nothing."""
        if self.in_doubt is None:
            return
        # The session is unknown to CANCEL if it has already ended.
        with suppress(UnknownSession):
            yield commands.release(self.account, self.id, cancel=True)
        self.in_doubt = None

    def settle(self) -> Flow[Answer | None]:
        """Ends the session: the use is debited, and the rest returns to the account."""
        yield from self.resolve()
        if self.is_open:
            with suppress(UnknownSession):
                return (yield from self.ask(self.terminate(self.unreported(), late=False)))
        answer = None
        if self.gone is not None:
            answer = yield from self.settle_gone(*self.gone)
        if rest := self.unreported():
            answer = yield from self.ask(self.terminate(rest, late=True))
        return answer

    def settle_gone(self, request: Request, why: UnknownSession) -> Flow[Answer | None]:
        """Debits the use that a request reported after its session was closed.

        The request keeps its number: if the session had already answered it, the server knows the number and does not
        debit the use twice.
        """
        if not self.late_use:
            raise why
        if time.monotonic() - request.sent > REMEMBERED:
            raise OutcomeUnknown(request.command, why) from why
        self.gone = None
        self.refused(request)
        if not request.used:
            return None
        try:
            return (yield from self.ask(self.terminate(request.used, late=True)))
        except OutOfWindow:
            for key, amount in request.used.items():
                self.items[key].unreported -= amount
                self.items[key].reported += amount
            self.number += 1
            return None

    # ---- Requests --------------------------------------------------------------------------

    def update(self, more: dict[str, int], least: dict[str, int] | None = None) -> Request:
        """Returns the request that reports all use and holds `more` in addition to the unused rest.

        With `least` each item gets at least its rest and that amount more, or keeps its rest.
        """
        used = {key: item.unreported for key, item in self.items.items() if item.unreported or key in more}
        rows = []
        for key, amount in used.items():
            item = self.items[key]
            wanted = item.left + more.get(key, 0)
            minimum = 1 if least is None else max(1, item.left + least.get(key, 0))
            asked = (wanted, minimum) if wanted else (None, None)
            rows.append(UpdateItem(item.key, item.unit, amount, *asked))
        keeps = least is not None
        command = commands.update(self.account, self.id, self.number, keephold=keeps, items=rows)
        return Request(command, used, keeps)

    def terminate(self, used: dict[str, int], *, late: bool) -> Request:
        rows = [TerminateItem(self.items[key].key, self.items[key].unit, amount) for key, amount in used.items()]
        command = commands.terminate(
            self.account,
            self.id,
            self.number,
            lateuse=late,
            overrun=self.overrun if late else None,
            items=rows,
        )
        return Request(command, used)

    def unreported(self) -> dict[str, int]:
        return {key: item.unreported for key, item in self.items.items() if item.unreported}

    def resolve(self) -> Flow[None]:
        """Sends the request in doubt again. A denial is ignored here: it concerns the operation that sent the
        request."""
        if self.in_doubt is not None:
            with suppress(Denied, Refused):
                yield from self.wait(self.in_doubt)

    def ask(self, request: Request) -> Flow[Answer]:
        for key, amount in request.used.items():
            self.items[key].unreported -= amount
            self.items[key].in_flight += amount
        self.in_doubt = request
        return (yield from self.wait(request))

    def wait(self, request: Request) -> Flow[Answer]:
        try:
            answer = yield request.command
        except Denied as denied:
            if isinstance(denied.reply, Answer):
                self.answered(request, denied.reply)
            raise
        except (OutcomeUnknown, Unreachable):
            raise
        except UnknownSession as why:
            self.in_doubt = None
            self.is_open = False
            self.gone = (request, why)
            raise
        except ScurryError:
            self.refused(request)
            raise
        self.answered(request, answer)
        return answer

    def answered(self, request: Request, answer: Answer) -> None:
        self.in_doubt = None
        self.number += 1
        self.is_open = answer.version != 0
        for key, amount in request.used.items():
            self.items[key].in_flight -= amount
            self.items[key].reported += amount
        for row in answer.items:
            item = self.items[str(row.key)]
            if request.keeps and row.code == "CREDIT_LIMIT_REACHED":
                item.held = max(0, item.held - request.used[str(row.key)])
            else:
                item.held = row.granted
            self.uncollected += row.uncollected
        if not self.is_open:
            for item in self.items.values():
                item.held = 0

    def refused(self, request: Request) -> None:
        """Handles a refusal: the server has stored nothing, so the number is free, and the use is still unreported."""
        self.in_doubt = None
        for key, amount in request.used.items():
            self.items[key].in_flight -= amount
            self.items[key].unreported += amount


def whole_ms(ttl: float) -> int:
    """Converts the time to live to milliseconds. 0 is refused: the session would hold nothing, and no error would show
    it."""
    if not 0.001 <= ttl < math.inf:
        raise ValueError(f"ttl is the time in seconds that a session may stay silent, 0.001 or more: not {ttl}")
    return round(ttl * 1000)


def denial_of_item(command: Command[Answer], answer: Answer, item: Item) -> Denied:
    whole = denial(command, answer)
    found = next((row for row in answer.items if str(row.key) == str(item.key)), None)
    cause, allowed_at = (found.cause, found.allowed_at) if found else (None, None)
    return Denied("CREDIT_LIMIT_REACHED", cause, answer, item=item.key, account=whole.account, allowed_at=allowed_at)


def drive(flow: Flow[R], run: Callable[[Command[Answer]], Answer]) -> R:
    """Runs an operation over a blocking store."""
    try:
        command = next(flow)
        while True:
            try:
                reply = run(command)
            except ScurryError as error:
                command = flow.throw(error)
            else:
                command = flow.send(reply)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def drive_async(flow: Flow[R], run: Callable[[Command[Answer]], Awaitable[Answer]]) -> R:
    """Runs an operation over an asyncio store."""
    try:
        command = next(flow)
        while True:
            try:
                reply = await run(command)
            except ScurryError as error:
                command = flow.throw(error)
            else:
                command = flow.send(reply)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
