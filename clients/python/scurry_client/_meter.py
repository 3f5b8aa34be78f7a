"""A charging session without a connection: which commands it sends, and what their answers mean.

Each operation is a generator: it yields commands, and is sent their answers. Who drives it waits for a server or
awaits one, so that the rules are here once. A request whose answer has not come is in doubt; the next operation
sends its words again first, so that nothing is reported twice and nothing is left out.
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
REMEMBERED = 200.0
"""Seconds for which a server remembers a session that has ended, as far as the client relies on it (240 there)."""
Flow = Generator[Command[Answer], Answer, R]


@dataclass(frozen=True, slots=True)
class Hold:
    """What a session sets aside for one item. Without a `minimum` it is all of it or nothing."""

    item: str | int
    unit: str
    amount: int
    minimum: int | None = None


@dataclass(slots=True)
class Item:
    """The state of one item: what it holds; and what was used of it, by how far the server knows of that."""

    key: str | int
    unit: str
    held: int = 0
    unreported: int = 0
    in_flight: int = 0
    """Reported by a request whose answer has not come."""
    reported: int = 0

    @property
    def left(self) -> int:
        return max(0, self.held - self.unreported - self.in_flight)

    @property
    def used(self) -> int:
        return self.unreported + self.in_flight + self.reported


@dataclass(slots=True)
class Request:
    """A request on its way, with the use that it reports."""

    command: Command[Answer]
    used: dict[str, int] = field(default_factory=dict)
    sent: float = field(default_factory=time.monotonic)


class Meter:
    def __init__(
        self,
        account: str,
        holds: Sequence[Hold],
        *,
        id: str | None,
        ttl: float | None,
        overrun: Literal["overdraw", "clamp"] | None,
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
        """Its answer was lost: its words are sent again before anything else."""
        self.gone: tuple[Request, UnknownSession] | None = None
        """The session was not open any more for it. It may have been carried out before, and its answer lost."""

    # ---- What the caller asks --------------------------------------------------------------

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

    def extend(self, amount: int, key: str | int | None, minimum: int | None) -> Flow[int]:
        """Holds so much more; what is left of the hold afterwards. What can be had is held where it is not all."""
        yield from self.resolve()
        item = self.item(key)
        least = item.left + (amount if minimum is None else minimum)
        request = self.update({str(item.key): amount})
        answer = yield from self.ask(request)
        if item.held < least:
            # It was not denied: the server granted what there was.
            raise denial_of_part(request.command, answer, item)
        return item.left

    def report(self) -> Flow[Answer]:
        """Settles what was used, goes on holding the rest, and begins the time to live again."""
        yield from self.resolve()
        return (yield from self.ask(self.update({})))

    def settle(self) -> Flow[Answer | None]:
        """Ends the session: what was used is debited, the rest goes back."""
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
        """Debits late what a request reported when its session was not open any more.

        It keeps its number: of one that the session had answered the server knows that, and debits nothing twice.
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

    def update(self, more: dict[str, int]) -> Request:
        used = {key: item.unreported for key, item in self.items.items() if item.unreported or key in more}
        rows = []
        for key, amount in used.items():
            item = self.items[key]
            wanted = item.left + more.get(key, 0)
            asked = (wanted, 1) if wanted else (None, None)
            rows.append(UpdateItem(item.key, item.unit, amount, *asked))
        command = commands.update(self.account, self.id, self.number, items=rows)
        return Request(command, used)

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
        """Sends again what is in doubt; a denial has been decided, and is for the operation that asked."""
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
            item.held = row.granted
            self.uncollected += row.uncollected
        if not self.is_open:
            for item in self.items.values():
                item.held = 0

    def refused(self, request: Request) -> None:
        """The server has stored nothing: the number is free, and the use is still to be reported."""
        self.in_doubt = None
        for key, amount in request.used.items():
            self.items[key].in_flight -= amount
            self.items[key].unreported += amount


def whole_ms(ttl: float) -> int:
    """The time to live as the server counts it. A session without one would hold nothing, and nobody would notice."""
    if not 0.001 <= ttl < math.inf:
        raise ValueError(f"ttl is the time in seconds that a session may stay silent, 0.001 or more: not {ttl}")
    return round(ttl * 1000)


def denial_of_part(command: Command[Answer], answer: Answer, item: Item) -> Denied:
    whole = denial(command, answer)
    return Denied("CREDIT_LIMIT_REACHED", None, answer, item=item.key, account=whole.account)


def drive(flow: Flow[R], run: Callable[[Command[Answer]], Answer]) -> R:
    """Carries out an operation over a store that is waited for."""
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
    """The same over a store that is awaited."""
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
