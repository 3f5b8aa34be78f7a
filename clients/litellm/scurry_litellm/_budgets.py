"""Holds and charges: what is sent to Scurry before a call, while it runs, and when it has ended.

Each call has a session of its own on each account that pays for it. Commands carry the session's id and a request
number, so that whatever is sent again does nothing twice; a settlement goes on in a task of its own until it is
known to be done, so that no caller waits for it and no cancelled request loses it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from scurry_client import (
    Command,
    DebitItem,
    Denied,
    OutcomeUnknown,
    OutOfWindow,
    Refused,
    ReserveItem,
    ScurryError,
    TerminateItem,
    UnknownAccount,
    UnknownSession,
    UnknownTransaction,
    Unreachable,
    commands,
)
from scurry_client.aio import Store

from ._money import Estimate
from ._settings import Settings

log = logging.getLogger("scurry_litellm")

REMEMBERED = 200.0
"""Seconds for which Scurry surely knows a session that has ended (240 there): what is repeated later is new to it."""
OWED_SECONDS_MAX = 3600.0
"""How long a settlement is tried that has never reached Scurry."""
PAUSE = 0.1
PAUSE_MAX = 2.0
RENEWALS_AT_ONCE = 32


class Refusal(Exception):
    """A budget does not cover the call."""

    def __init__(self, account: str, reason: str, needed: int, left: int | None) -> None:
        self.account = account
        self.reason = reason
        self.needed = needed
        self.left = left
        """What the account could grant at the time, in micro-cents; None where Scurry did not tell."""
        has = "" if left is None else f", and {left} are left"
        super().__init__(f"budget {account}: the call may cost {needed} micro-cents{has} ({reason})")


class Unusable(Exception):
    """An account that pays for no call, whatever it has: asking again does not help."""

    def __init__(self, account: str, reason: str) -> None:
        self.account = account
        self.reason = reason
        super().__init__(f"budget {account}: {reason}")


class Away(Exception):
    """Scurry was not reached or could not serve, so nobody knows whether a budget covers the call."""


class Full(Exception):
    """As many calls are under way as may be."""


@dataclass(eq=False, slots=True)
class Call:
    id: str
    accounts: tuple[str, ...]
    item: str
    estimate: Estimate
    hold: int
    began: float
    renewed: float
    number: int = 1
    """Of the next request of its sessions; 0 has opened them."""
    is_held: bool = False
    """Scurry has said so; else it may be, where `fail_open` let the call go on."""
    is_renewed: bool = True
    has_ended: bool = False
    is_cut: bool = False
    """A stream whose reader has left it before its end: it costs no less than what was held."""
    due: tuple[float, int] | None = None
    """When it is charged so many micro-cents if nobody tells its cost before."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def next(self) -> int:
        self.number += 1
        return self.number - 1


class Budgets:
    def __init__(self, store: Store, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self.store = store
        self.settings = settings
        self.clock = clock
        self.calls: dict[str, Call] = {}
        self.opening = 0
        """Calls that wait for their holds."""
        self.tasks: set[asyncio.Task[None]] = set()
        """Settlements on their way."""
        self.lost = 0
        """Micro-cents that were given up, in one account each."""

    # ---- Before a call -------------------------------------------------------------------------

    async def open(self, accounts: Sequence[str], item: str, estimate: Estimate, label: str = "") -> Call:
        """Holds the estimate in each of the accounts. `Refusal`, `Unusable`, `Away` (without `fail_open`), `Full`."""
        if len(self.calls) + self.opening + len(self.tasks) >= self.settings.calls_max:
            raise Full(f"{self.settings.calls_max} calls are under way: calls_max")
        now = self.clock()
        # Whoever calls may choose the label: the rest keeps anybody from guessing another's session.
        id = f"{printable(label)[:36]}.{secrets.token_hex(8)}"
        call = Call(id, tuple(accounts), item_key(item), estimate, estimate.hold, now, now)
        if call.hold:
            self.opening += 1
            try:
                await self._reserve(call)
            finally:
                self.opening -= 1
        self.calls[call.id] = call
        return call

    async def _reserve(self, call: Call) -> None:
        # In a task of its own: a request that is cancelled meanwhile must not leave half of it.
        going = asyncio.ensure_future(self.store.run(together(self._begins(call))))
        try:
            await asyncio.shield(going)
            call.is_held = True
        except Denied as denied:
            raise await self._refusal(call, denied) from denied
        except (Unreachable, OutcomeUnknown) as why:
            if not self.settings.fail_open:
                raise Away(f"the budget was not reached: {why}") from why
            log.warning("a call goes on without a hold: %s", why)
        except UnknownAccount as why:
            raise Unusable(await self._missing_of(call), "there is no such account") from why
        except ScurryError as why:
            raise Away(f"the budget has no answer: {why}") from why
        except asyncio.CancelledError:
            self._spawn(self._give_back(call, going))
            raise

    async def _give_back(self, call: Call, going: asyncio.Future[Any]) -> None:
        """Ends a call that was cancelled while it was held; nobody else will say how it ends."""
        await asyncio.wait([going])
        why = going.exception()
        if why is None or isinstance(why, OutcomeUnknown):
            await self._end(call, 0)

    def _begins(self, call: Call) -> list[Command[Any]]:
        settings = self.settings
        if self.is_charged_first:
            taken = [DebitItem(call.item, settings.unit, call.hold)]
            return [commands.debit(account, call.id, items=taken) for account in call.accounts]
        wanted = [ReserveItem(call.item, settings.unit, call.hold, call.hold)]
        tcc = max(1, round(settings.ttl * 1000))
        return [
            commands.reserve(account, call.id, 0, tcc_ms=tcc, overrun=settings.overrun, items=wanted)
            for account in call.accounts
        ]

    @property
    def is_charged_first(self) -> bool:
        return self.settings.when_killed == "charged"

    async def _missing_of(self, call: Call) -> str:
        """The account that is not there: of a chain Scurry does not tell which."""
        for account in call.accounts if len(call.accounts) > 1 else ():
            try:
                await self.store.run(commands.check(account, self.settings.unit, call.hold))
            except UnknownAccount:
                return account
            except ScurryError as why:
                log.debug("whether there is %s is not known: %s", account, why)
        return " or ".join(call.accounts)

    async def _refusal(self, call: Call, denied: Denied) -> Refusal | Unusable:
        account = denied.account or call.accounts[0]
        if denied.reason == "status":
            return Unusable(account, "the account is suspended or closed")
        if denied.reason == "no_bucket":
            return Unusable(account, f"the account has no bucket of the unit {self.settings.unit}")
        reason = f"limit {denied.limit}" if denied.limit else denied.reason or denied.code
        left = None
        try:
            left = (await self.store.run(commands.check(account, self.settings.unit, call.hold))).amount
        except ScurryError as why:
            log.debug("what is left of %s is not known: %s", account, why)
        return Refusal(account, reason, call.hold, left)

    # ---- While it runs -------------------------------------------------------------------------

    async def keep(self) -> None:
        """Renews the holds of calls that take long, for ever."""
        while True:
            await asyncio.sleep(self.settings.ttl / 6)
            try:
                await self.renew()
            except Exception:
                log.exception("holds were not renewed")

    async def renew(self) -> None:
        """Renews each hold of which a third of its time is over, and ends what is due."""
        now = self.clock()
        for call in list(self.calls.values()):
            if call.due is not None and call.due[0] <= now:
                log.warning("call %s has ended and nobody told its cost: %s micro-cents", call.id, call.due[1])
                self.settle(call, call.due[1])
            elif now - call.began > self.settings.call_seconds_max:
                log.error("call %s is given up: it has not ended", call.id)
                self.calls.pop(call.id, None)
        due = [call for call in self.calls.values() if self._is_to_renew(call, now)]
        for at in range(0, len(due), RENEWALS_AT_ONCE):
            await asyncio.gather(*(self._renew(call) for call in due[at : at + RENEWALS_AT_ONCE]))

    def _is_to_renew(self, call: Call, now: float) -> bool:
        is_held = call.is_renewed and call.hold > 0 and not self.is_charged_first
        return is_held and now - call.renewed >= self.settings.ttl / 3

    async def _renew(self, call: Call) -> None:
        async with call.lock:
            if call.has_ended:
                return
            number = call.next()
            try:
                await self.store.run(together([commands.update(account, call.id, number) for account in call.accounts]))
            except UnknownSession:
                # Its time ran out while Scurry was away: what it costs is charged late.
                call.is_renewed = False
            except ScurryError as why:
                log.warning("the hold of %s was not renewed: %s", call.id, why)
            else:
                call.renewed = self.clock()

    def charge_later(self, call: Call, amount: int) -> None:
        """Has a call charged so much when its cost was not told within the time of a hold."""
        call.due = (self.clock() + self.settings.ttl, amount)

    # ---- When it has ended ---------------------------------------------------------------------

    def settle(self, call: Call, amount: int) -> asyncio.Task[None] | None:
        """Charges a call, once, and gives the rest of its hold back; with 0 all of it. None where that was done."""
        if call.has_ended:
            return None
        call.has_ended = True
        self.calls.pop(call.id, None)
        if not call.hold and not amount:
            return None
        return self._spawn(self._end(call, amount))

    async def settled(self, call: Call, amount: int) -> None:
        """Settles, and waits for it as long as a caller may wait. The settlement goes on where that is not enough."""
        task = self.settle(call, amount)
        if task is not None:
            await asyncio.wait([task], timeout=self.settings.patience)

    async def drain(self) -> None:
        """Waits for the settlements that are on their way."""
        while self.tasks:
            await asyncio.wait(list(self.tasks))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def _end(self, call: Call, amount: int) -> None:
        async with call.lock:
            number = call.next()
            try:
                await self._deliver(call, call.accounts, number, amount)
            except Refused as why:
                if len(call.accounts) == 1:
                    self._lose(call.accounts, call, amount, why)
                    return
                # One account of the chain is closed, gone or full: the others pay all the same.
                for account in call.accounts:
                    try:
                        await self._deliver(call, (account,), number, amount)
                    except Refused as own:
                        self._lose((account,), call, amount, own)

    async def _deliver(self, call: Call, accounts: Sequence[str], number: int, amount: int) -> None:
        began = self.clock()
        unknown_since: float | None = None
        is_late = False
        pause = PAUSE
        while True:
            sent = self.clock()
            ends = self._ends(call, accounts, number, amount, is_late)
            if not ends:
                return
            try:
                await self.store.run(together(ends))
                return
            except UnknownTransaction:
                if call.is_held:
                    raise
                # It was never debited: what it cost is, now.
                call.hold = 0
                continue
            except OutOfWindow:
                return  # It had been carried out.
            except UnknownSession as why:
                if not amount:
                    return  # There is nothing to give back.
                if is_late:
                    raise
                if unknown_since is not None and sent - unknown_since > REMEMBERED:
                    return self._lose(accounts, call, amount, why)
                is_late = True
                continue
            except (Unreachable, OutcomeUnknown) as why:
                if unknown_since is None and isinstance(why, OutcomeUnknown):
                    unknown_since = sent
                now = self.clock()
                is_over = now - began > OWED_SECONDS_MAX
                if is_over or (unknown_since is not None and now - unknown_since > REMEMBERED):
                    return self._lose(accounts, call, amount, why)
            except Refused:
                raise
            except ScurryError as why:
                # No memory, no permission, a node that does not lead: it may be mended meanwhile.
                if self.clock() - began > OWED_SECONDS_MAX:
                    return self._lose(accounts, call, amount, why)
            await asyncio.sleep(pause)
            pause = min(2 * pause, PAUSE_MAX)

    def _ends(self, call: Call, accounts: Sequence[str], number: int, amount: int, is_late: bool) -> list[Command[Any]]:
        unit = self.settings.unit
        if self.is_charged_first:
            if rest := max(0, call.hold - amount):
                back = [DebitItem(call.item, unit, rest)]
                return [commands.refund(account, f"{call.id}.rest", call.id, items=back) for account in accounts]
            # What it cost beyond the debit is the late use of a session that never was.
            amount, is_late = amount - call.hold, True
            if not amount:
                return []
        used = [TerminateItem(call.item, unit, amount)] if amount else []
        overrun = self.settings.overrun if is_late else None
        return [
            commands.terminate(account, call.id, number, lateuse=is_late, overrun=overrun, items=used)
            for account in accounts
        ]

    def _lose(self, accounts: Sequence[str], call: Call, amount: int, why: BaseException) -> None:
        self.lost += amount
        log.error("call %s was not charged: %s micro-cents of %s: %s", call.id, amount, ", ".join(accounts), why)


def together(links: Sequence[Command[Any]]) -> Command[Any]:
    """One command for one account, and a chain for several: all or none."""
    return links[0] if len(links) == 1 else commands.chain(*links)


def printable(text: str) -> str:
    return "".join(letter if "!" <= letter <= "~" else "_" for letter in text)


def item_key(model: str) -> str:
    """A model's name as the key of an item, of which there are 32 bytes: limits and statements go by it."""
    name = printable(model) or "-"
    return name if len(name) <= 32 else f"{name[:15]}~{name[-16:]}"
