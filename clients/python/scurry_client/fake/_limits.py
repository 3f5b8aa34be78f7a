"""COUNTER and LIMIT, and the table of all commands with a transaction id: docs/ledger.md, sections 12 and 14."""

from __future__ import annotations

from ._balances import Adjust, Change, Command, Debit, Outcome, Refund, Topup
from ._sessions import busy
from ._values import Account, Bounds, Counter, Limit, Reject, period_start
from ._words import PERIODS, Options, Words, invalid, unexpected


class Count(Command):
    def read(self, words: Words) -> None:
        self.counter = words.name("counter")
        self.amount = words.integer("amount")
        self.options = Options()
        while not words.is_over():
            keyword = words.peek()
            if keyword not in ("UNIT", "PERIOD"):
                raise unexpected(words)
            words.take(keyword)
            self.options.put(keyword, words.name("unit") if keyword == "UNIT" else words.choice("period", PERIODS))

    def parts(self) -> tuple[object, ...]:
        return (self.counter, self.amount, tuple(sorted(self.options.given.items())))

    def check(self, account: Account, now: int, bounds: Bounds) -> None:
        counter, options = account.counters.get(self.counter), self.options
        if counter is not None:
            if options.get("UNIT", counter.unit) != counter.unit:
                raise invalid(f"the counter's UNIT is {counter.unit}")
            if options.get("PERIOD", counter.period) != counter.period:
                raise invalid(f"the counter's PERIOD is {counter.period}")
        elif len(account.counters) >= bounds.counters_max:
            raise busy("counters_max", bounds.counters_max, [], now)

    def carry_out(self, account: Account, now: int, bounds: Bounds) -> Outcome:
        options = self.options
        counter = account.counters.get(self.counter)
        if counter is None:
            counter = Counter(options.get("UNIT", "events"), options.get("PERIOD", "none"), 0, None)
            account.counters[self.counter] = counter
        start = period_start(counter.period, 0, now)
        counter.value = self.amount + (counter.value if start == counter.start else 0)
        counter.start = start
        if abs(counter.value) >= 2**63:
            raise NotImplementedError("sums beyond 64 bits")
        return "OK", counter.value, None


class Limiting(Command):
    """SCUR.LIMIT."""

    def read(self, words: Words) -> None:
        self.limit = words.name("limit")
        self.options = options = Options()
        while not words.is_over():
            keyword = words.peek()
            if keyword not in ("UNIT", "ITEM", "AMOUNT", "PERIOD", "OFFSET", "SESSIONS", "REMOVE"):
                raise unexpected(words)
            words.take(keyword)
            options.put(keyword, self.value(words, keyword))
        if "REMOVE" in options:
            if len(options.given) > 1:
                raise invalid("REMOVE stands alone")
            return
        if ("UNIT" in options) == ("SESSIONS" in options):
            raise invalid("say UNIT or SESSIONS, or REMOVE")
        if "AMOUNT" not in options:
            raise invalid("AMOUNT is missing")
        if "SESSIONS" in options and any(keyword in options for keyword in ("PERIOD", "OFFSET", "ITEM")):
            raise invalid("SESSIONS has no PERIOD, OFFSET or ITEM")
        if options.get("PERIOD") == "none" and "OFFSET" in options:
            raise invalid("OFFSET is for a limit with a period")

    def value(self, words: Words, keyword: str) -> object:
        if keyword in ("SESSIONS", "REMOVE"):
            return True
        if keyword == "UNIT":
            return words.name("unit")
        if keyword == "ITEM":
            return words.key()
        if keyword == "PERIOD":
            return words.choice("period", PERIODS)
        return words.integer("OFFSET", -840, 840) if keyword == "OFFSET" else words.integer("AMOUNT", 0)

    def parts(self) -> tuple[object, ...]:
        return (self.limit, tuple(sorted(self.options.given.items())))

    def check(self, account: Account, now: int, bounds: Bounds) -> None:
        limit, options = account.limits.get(self.limit), self.options
        if "REMOVE" in options:
            if limit is None:
                raise Reject("UNKNOWN_LIMIT", "no limit has this id")
            return
        period = options.get("PERIOD", limit.period if limit else "none")
        if period == "none" and "OFFSET" in options:
            raise invalid("OFFSET is for a limit with a period")
        if limit is None:
            if len(account.limits) >= bounds.limits_max:
                raise busy("limits_max", bounds.limits_max, [], now)
        elif (limit.unit, limit.item) != (options.get("UNIT"), options.get("ITEM")):
            raise invalid("the limit counts something else: remove it first")

    def carry_out(self, account: Account, now: int, bounds: Bounds) -> Outcome:
        options = self.options
        if "REMOVE" in options:
            del account.limits[self.limit]
            return "OK", 0, None
        limit = account.limits.get(self.limit)
        if limit is None:
            limit = Limit(self.limit, options.get("UNIT"), options.get("ITEM"), 0, "", 0, None, 0)
            account.limits[self.limit] = limit
        else:
            account.begin_period(limit, now)
        before = (limit.period, limit.offset)
        limit.period = options.get("PERIOD", limit.period or "none")
        limit.offset = 0 if limit.period == "none" else options.get("OFFSET", limit.offset)
        limit.amount = options.get("AMOUNT")
        if (limit.period, limit.offset) != before:
            limit.making = account.next_number()
            limit.used = 0
            limit.start = period_start(limit.period, limit.offset, now)
        limit.overrun = max(0, limit.used + account.held_of(limit) - limit.amount)
        return "OK", account.left_of(limit, now), None


COMMANDS: dict[str, type[Command]] = {
    "SCUR.TOPUP": Topup,
    "SCUR.ADJUST": Adjust,
    "SCUR.BUCKET": Change,
    "SCUR.DEBIT": Debit,
    "SCUR.REFUND": Refund,
    "SCUR.COUNTER": Count,
    "SCUR.LIMIT": Limiting,
}
