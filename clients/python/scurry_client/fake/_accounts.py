"""CREATE, STATUS, DELETE, and what is read: docs/ledger.md, sections 11 and 12."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._amounts import Amounts
from ._balances import check_transactions
from ._values import (
    Account,
    Bounds,
    Bucket,
    Reject,
    Reply,
    Session,
    Stored,
    Transaction,
    period_end,
    period_start,
)
from ._words import Options, Words, checked, invalid, unexpected

STATUSES = ("active", "suspended", "closed")


class Provision:
    """The words of CREATE and STATUS."""

    def __init__(self, name: str, words: Words, bounds: Bounds) -> None:
        self.name = name
        self.options = Options()
        self.identities: list[tuple[str, str]] = []
        self.buckets: list[tuple[str, str, int, Options]] = []
        if name == "SCUR.STATUS":
            self.options.put("STATUS", words.choice("status", STATUSES))
        while not words.is_over():
            self.option(words)
        if name == "SCUR.CREATE" and len({kind for kind, _ in self.identities}) != len(self.identities):
            raise invalid("a kind of identities stands twice")
        if len({bucket[0] for bucket in self.buckets}) != len(self.buckets):
            raise invalid("a bucket stands twice")
        if name == "SCUR.CREATE" and len(self.identities) > bounds.identities_max:
            raise invalid(f"identities_max {bounds.identities_max}: more identities")
        if len(self.buckets) > bounds.buckets_max:
            raise invalid(f"buckets_max {bounds.buckets_max}: more buckets")
        self.txn = self.options.get("TXN")
        buckets = tuple((*bucket[:3], tuple(sorted(bucket[3].given.items(), key=str))) for bucket in self.buckets)
        self.body = (name, self.options.get("STATUS", "active"), tuple(self.identities), buckets)

    def option(self, words: Words) -> None:
        keyword = words.peek()
        is_create = self.name == "SCUR.CREATE"
        if keyword == "TXN":
            words.take("txn")
            self.options.put("TXN", words.txn())
        elif keyword == "STATUS" and is_create:
            words.take("status")
            self.options.put("STATUS", words.choice("status", STATUSES[:2]))
        elif keyword == "IDENTITY":
            words.take("identity")
            kind, value = words.name("kind"), words.take("value")
            is_removal = not value and not is_create
            self.identities.append((kind, "" if is_removal else checked(value, "value", 64)))
        elif keyword == "BUCKET" and is_create:
            words.take("bucket")
            self.buckets.append((words.name("bucket"), words.name("unit"), words.integer("amount", 0), Options()))
        elif self.buckets and keyword in ("PRIORITY", "FROM", "TO", "FLOOR"):
            words.take(keyword)
            bounds = {"PRIORITY": (-(2**31), 2**31 - 1), "FLOOR": (-(2**63) + 1, 0)}.get(keyword, (0, 2**47 - 1))
            self.buckets[-1][3].put(keyword, words.integer(keyword.lower(), *bounds))
        elif self.buckets and keyword in ("PERIOD", "OFFSET", "AMOUNT"):
            raise NotImplementedError(f"the fake has no allowances: {keyword}")
        elif is_create and not self.buckets and keyword not in ("PRIORITY", "FROM", "TO", "FLOOR"):
            raise invalid(f"unexpected argument '{keyword.lower()}': STATUS, IDENTITY or BUCKET comes first")
        else:
            raise unexpected(words)


def create(id: str, words: Provision, now: int) -> Account:
    account = Account(id, now, words.options.get("STATUS", "active"))
    account.identities = dict(words.identities)
    for name, unit, amount, options in words.buckets:
        start, end = options.get("FROM", 0), options.get("TO")
        if end is not None and (end <= now or end <= start):
            raise invalid("TO must be in the future, and above FROM")
        account.buckets[name] = Bucket(
            name,
            unit,
            now,
            options.get("PRIORITY", 0),
            start,
            end,
            options.get("FLOOR", 0),
            available=amount,
            credited=amount,
            number=account.next_number(),
        )
    return account


def set_status(account: Account, words: Provision, now: int, bounds: Bounds) -> None:
    status = words.options.get("STATUS")
    if account.status == "closed" and status != "closed":
        raise Reject("NOT_APPLICABLE", "a closed account stays closed")
    for kind, value in words.identities:
        # One that is set stands last.
        account.identities.pop(kind, None)
        if value:
            account.identities[kind] = value
        if len(account.identities) > bounds.identities_max:
            raise invalid(f"identities_max {bounds.identities_max}: more identities")
    if words.txn is not None:
        check_transactions(account, now, bounds)
    account.status = status


def remembered(account: Account, words: Provision) -> Reply | None:
    """The answer to the same words before."""
    known = account.transactions.get(words.txn) if words.txn is not None else None
    if known is None:
        return None
    if known.stored.body != words.body:
        raise Reject("REQUEST_MISMATCH", "the transaction id was used with another body")
    return known.stored.reply


def remember(account: Account, words: Provision, now: int, bounds: Bounds) -> Reply:
    reply = Reply("OK", account.version + 1)
    if words.txn is not None:
        account.transactions[words.txn] = Transaction(now + bounds.transaction_ms, Stored(words.body, reply))
    return reply


def check_deletion(account: Account, is_forced: bool) -> None:
    holds = any(bucket.available + bucket.held for bucket in account.buckets.values())
    remembers = bool(account.tombstones or account.transactions) and not is_forced
    if account.status != "closed" or account.sessions or holds or remembers:
        raise Reject("NOT_EMPTY", "close it and empty it first; FORCE does not wait for what is remembered")


def check(account: Account, unit: str, amount: int, now: int) -> list[Any]:
    if account.status != "active":
        there, _ = Amounts(account, now).grantable(unit, None, 2**63 - 1, 0)
        return ["SERVICE_DENIED", there, "status"]
    there, _ = Amounts(account, now).grantable(unit, None, 2**63 - 1, 0)
    _, cause = Amounts(account, now).grantable(unit, None, amount, amount)
    return ["CREDIT_LIMIT_REACHED", there, cause] if cause else ["OK", there]


# ---- What is shown --------------------------------------------------------------------------


def show(account: Account, now: int) -> dict[str, Any]:
    return {
        "status": account.status,
        "version": account.version,
        "identities": [[kind, value] for kind, value in account.identities.items()],
        "buckets": [
            [
                bucket.id,
                bucket.unit,
                bucket.available,
                bucket.held,
                bucket.floor,
                bucket.priority,
                bucket.valid_from,
                bucket.valid_to,
            ]
            for bucket in account.buckets.values()
        ],
        "counters": [
            [
                id,
                counter.unit,
                counter.value if period_start(counter.period, 0, now) == counter.start else 0,
                counter.period,
                period_end(counter.period, 0, now),
            ]
            for id, counter in account.counters.items()
        ],
        "limits": [show_limit(account, id, now) for id in account.limits],
        "sessions": [[session.id, session.version, session.deadline] for session in account.sessions.values()],
    }


def show_limit(account: Account, id: str, now: int) -> list[Any]:
    limit = account.limit_at(account.limits[id], now)
    left = account.left_of(limit, now)
    return [
        id,
        limit.unit,
        limit.item,
        limit.amount,
        limit.used,
        account.held_of(limit),
        left,
        limit.overrun,
        limit.period,
        limit.offset,
        period_end(limit.period, limit.offset, now),
    ]


def show_session(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "version": session.version,
        "deadline": session.deadline,
        "validity": session.validity,
        "tcc": session.tcc,
        "overrun": session.overrun,
        "last_request": session.highest,
        "data": session.data,
        "items": [
            [
                item.key,
                item.unit,
                item.granted,
                item.outstanding,
                item.used,
                item.from_hold,
                item.direct,
                item.released,
                item.uncollected,
            ]
            for item in session.items
        ],
    }


def sums(bucket: Bucket) -> list[int]:
    return [
        bucket.available,
        bucket.held,
        bucket.credited,
        bucket.refunded,
        bucket.consumed,
        bucket.expired,
        bucket.voided,
        bucket.overdrawn,
    ]


def audit(account: Account) -> dict[str, Any]:
    for bucket in account.buckets.values():
        available, held, credited, refunded, consumed, expired, voided, _ = sums(bucket)
        assert available + held == credited + refunded - consumed - expired - voided, bucket
    return {
        "ok": 1,
        "version": account.version,
        "buckets": [[bucket.id, bucket.unit, *sums(bucket)] for bucket in account.buckets.values()],
        "uncollected": [list(entry) for entry in account.uncollected.items()],
    }


def totals(accounts: list[Account], known: Iterable[str]) -> dict[str, Any]:
    """Sums per unit, in the order in which units came; one that was there once stays."""
    units = {unit: [0] * 9 for unit in known}
    for account in accounts:
        for bucket in account.buckets.values():
            row = units[bucket.unit]
            row[:8] = [sum(pair) for pair in zip(row[:8], sums(bucket), strict=True)]
        for unit, amount in account.uncollected.items():
            units[unit][8] += amount
    return {
        "accounts": len(accounts),
        "sessions": sum(len(account.sessions) for account in accounts),
        "units": [[unit, *row] for unit, row in units.items()],
    }
