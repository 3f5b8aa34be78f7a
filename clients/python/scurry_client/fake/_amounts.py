"""What buckets and limits let through, and what use takes of them: docs/ledger.md, sections 7, 8 and 14."""

from __future__ import annotations

from ._values import I64_MAX, Account, Limit, Part


class Amounts:
    def __init__(self, account: Account, now: int) -> None:
        self.account = account
        self.now = now

    def limits(self, key: str | int | None, unit: str) -> list[Limit]:
        return [limit for limit in self.account.limits.values() if limit.counts(key, unit)]

    def begin_periods(self, key: str | int | None, unit: str) -> None:
        """Comes before any of a use moves, and not with a use of 0."""
        for limit in self.limits(key, unit):
            self.account.begin_period(limit, self.now)

    def left_of_limits(self, key: str | int | None, unit: str) -> dict[str, int]:
        return {limit.id: self.account.left_of(limit, self.now) for limit in self.limits(key, unit)}

    def grantable(self, unit: str, key: str | int | None, most: int, least: int) -> tuple[int, str | None]:
        """How much of `most` there is, and the cause where that is less than `least`."""
        account = self.account
        there = sum(max(0, bucket.available - bucket.floor) for bucket in account.burning(unit, self.now))
        left = self.left_of_limits(key, unit)
        amount = min([most, there, *left.values()])
        if amount >= least:
            return amount, None
        tightest = min(left, key=lambda id: left[id]) if left else None
        if tightest is not None and left[tightest] < there:
            return amount, f"limit {tightest}"
        if all(bucket.unit != unit for bucket in account.buckets.values()):
            return amount, "no_bucket"
        return amount, "balance"

    def debit(self, unit: str, amount: int) -> list[Part]:
        """Takes from what is available, down to 0 and then to the floors; what each bucket gave."""
        taken: dict[str, int] = {}
        rest = amount
        for goes_to_floor in (False, True):
            for bucket in self.account.burning(unit, self.now):
                part = min(rest, max(0, bucket.available - (bucket.floor if goes_to_floor else 0)))
                if part:
                    bucket.available -= part
                    bucket.consumed += part
                    bucket.check()
                    taken[bucket.id] = taken.get(bucket.id, 0) + part
                    rest -= part
        return [Part(id, self.account.buckets[id].number, part) for id, part in taken.items()]

    def use(
        self,
        key: str | int,
        unit: str,
        used: int,
        from_hold: int,
        overrun: str,
        left: dict[str, int] | None = None,
    ) -> tuple[int, int]:
        """Debits use that no hold covered: what was debited, and what could not be. Limits count all of it."""
        if left is None:
            left = self.left_of_limits(key, unit)
            if used:
                self.begin_periods(key, unit)
        rest = used - from_hold
        direct = sum(part.amount for part in self.debit(unit, rest))
        rest -= direct
        buckets = self.account.burning(unit, self.now)
        if rest and overrun == "overdraw" and buckets:
            last = buckets[-1]
            last.consumed += rest
            last.available -= rest
            last.overdrawn += rest
            last.check()
            direct += rest
            rest = 0
        if rest:
            self.account.uncollected[unit] = self.account.uncollected.get(unit, 0) + rest
            if self.account.uncollected[unit] > I64_MAX:
                raise NotImplementedError("sums beyond 64 bits")
        for limit in self.limits(key, unit):
            limit.used += used
            limit.overrun = min(I64_MAX, limit.overrun + max(0, used - from_hold - left[limit.id]))
        return direct, rest
