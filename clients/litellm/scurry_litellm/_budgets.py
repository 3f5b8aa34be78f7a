"""Holds and charges: the commands sent to Scurry before a call, during it, and after its end.

Each call has a separate session on each account that pays for it. Commands carry the session's id and a request number,
so that a repeated command has no second effect. A settlement runs in its own task until it is known to be done, so that
no caller waits for it and no cancelled request loses it.
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
"""Seconds for which Scurry certainly remembers a finished session (it remembers it for 240): a later repetition would
be a new request."""
OWED_SECONDS_MAX = 3600.0
"""How long a settlement is retried while it has never reached Scurry."""
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
        """The amount that the account could grant at the time, in micro-cents; None when Scurry did not report it."""
        has = "" if left is None else f", and {left} are left"
        super().__init__(f"budget {account}: the call may cost {needed} micro-cents{has} ({reason})")


class Unusable(Exception):
    """The account cannot pay for any call, whatever its balance: a retry does not help."""

    def __init__(self, account: str, reason: str) -> None:
        self.account = account
        self.reason = reason
        super().__init__(f"budget {account}: {reason}")


class Away(Exception):
    """Scurry was not reached or could not serve, so it is not known whether a budget covers the call."""


class Full(Exception):
    """The maximum number of calls is in progress."""


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
    """Number of the next request of its sessions; request 0 opened them."""
    is_held: bool = False
    """Whether Scurry has confirmed the hold. It may exist without confirmation when `fail_open` let the call go on."""
    is_renewed: bool = True
    has_ended: bool = False
    is_cut: bool = False
    """The reader left the stream before its end: the call costs at least the hold."""
    due: tuple[float, int] | None = None
    """The time at which the call is charged this many micro-cents, unless its cost is known before."""
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
        """Number of calls that wait for their holds."""
        self.tasks: set[asyncio.Task[None]] = set()
        """Settlements in progress."""
        self.lost = 0
        """Total of micro-cents that could not be charged, counted once per failed settlement."""

    # ---- Before a call -------------------------------------------------------------------------

    async def open(self, accounts: Sequence[str], item: str, estimate: Estimate, label: str = "") -> Call:
        """Holds the estimate in each account. Raises `Refusal`, `Unusable`, `Away` (without `fail_open`) or `Full`."""
        if len(self.calls) + self.opening + len(self.tasks) >= self.settings.calls_max:
            raise Full(f"{self.settings.calls_max} calls are under way: calls_max")
        now = self.clock()
        # The caller may choose the label: the random part keeps others from guessing the session's id.
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
        # A separate task, so that a request that is cancelled meanwhile does not leave a half-finished hold.
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
        """Ends a call that was cancelled during its hold; no other event will report its end."""
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
        """Returns the missing account: for a chain, Scurry does not report which one it is."""
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

    # ---- During a call -------------------------------------------------------------------------

    async def keep(self) -> None:
        """Renews the holds of long calls, for ever."""
        while True:
            await asyncio.sleep(self.settings.ttl / 6)
            try:
                await self.renew()
            except Exception:
                log.exception("holds were not renewed")

    async def renew(self) -> None:
        """Renews each hold after a third of its time to live, and settles calls whose deadline has passed."""
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
                # The hold expired while Scurry was unreachable: the cost is charged late.
                call.is_renewed = False
            except ScurryError as why:
                log.warning("the hold of %s was not renewed: %s", call.id, why)
            else:
                call.renewed = self.clock()

    def charge_later(self, call: Call, amount: int) -> None:
        """Charges the call this amount if its cost is not reported within the time to live of a hold."""
        call.due = (self.clock() + self.settings.ttl, amount)

    # ---- After a call --------------------------------------------------------------------------

    def settle(self, call: Call, amount: int) -> asyncio.Task[None] | None:
        """Charges a call once and returns the rest of its hold, all of it when `amount` is 0. None if already
        settled."""
        if call.has_ended:
            return None
        call.has_ended = True
        self.calls.pop(call.id, None)
        if not call.hold and not amount:
            return None
        return self._spawn(self._end(call, amount))

    async def settled(self, call: Call, amount: int) -> None:
        """Settles a call and waits for it at most `patience` seconds. The settlement continues after that."""
        task = self.settle(call, amount)
        if task is not None:
            await asyncio.wait([task], timeout=self.settings.patience)

    async def drain(self) -> None:
        """Waits until all settlements in progress have ended."""
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
                # One account of the chain is closed, missing or full: the others still pay.
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
                # Nothing was debited before the call, so all of its cost is due now.
                call.hold = 0
                continue
            except OutOfWindow:
                return  # An earlier attempt was executed.
            except UnknownSession as why:
                if not amount:
                    return  # No hold is left to return.
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
                # Out of memory, no permission, a node that does not lead: the fault may be fixed meanwhile.
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
            # The cost beyond the debit is charged as the late use of a session that never existed.
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
    """Returns one command for one account, and a chain for several, which succeeds or fails as a whole."""
    return links[0] if len(links) == 1 else commands.chain(*links)


def printable(text: str) -> str:
    return "".join(letter if "!" <= letter <= "~" else "_" for letter in text)


def item_key(model: str) -> str:
    """Shortens a model's name to the 32 bytes of an item's key: limits and statements use this key."""
    name = printable(model) or "-"
    return name if len(name) <= 32 else f"{name[:15]}~{name[-16:]}"
