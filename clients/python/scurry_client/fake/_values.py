"""What the fake keeps: accounts with their buckets, sessions and what is remembered. See docs/ledger.md, section 2."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

I64_MAX = 2**63 - 1
CLOCK_MAX = 2**47 - 1
"""The last moment of the clock."""
NEVER = 2**62
"""Later than any time that is told."""


class Reject(Exception):
    """A refusal: nothing changes, nothing is stored."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Bounds:
    """The bounds and defaults of a store, by their names in `[limits]` of the server's settings."""

    identities_max: int = 8
    buckets_max: int = 32
    counters_max: int = 32
    limits_max: int = 16
    sessions_max: int = 1_000_000
    session_ids_max: int = 4_000_000
    items_max: int = 16
    answers_max: int = 8
    transactions_max: int = 4_000_000
    blob_len_max: int = 256
    tombstone_ms: int = 240_000
    transaction_ms: int = 3_600_000
    validity_ms_default: int = 600_000
    tcc_ms_max: int = 604_800_000
    overrun_default: str = "overdraw"


def period_start(period: str, offset_minutes: int, now: int) -> int | None:
    """When the period of `now` began, by clocks that are so many minutes ahead of UTC."""
    return _edge(period, offset_minutes, now, ahead=0)


def period_end(period: str, offset_minutes: int, now: int) -> int | None:
    """When the next one begins, where the clock comes to it."""
    end = _edge(period, offset_minutes, now, ahead=1)
    return None if end is None or end > CLOCK_MAX else end


def _edge(period: str, offset_minutes: int, now: int, ahead: int) -> int | None:
    if period == "none":
        return None
    shift = offset_minutes * 60_000
    local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=now + shift)
    day = local.replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "hour":
        edge = local.replace(minute=0, second=0, microsecond=0) + timedelta(hours=ahead)
    elif period == "day":
        edge = day + timedelta(days=ahead)
    elif period == "week":
        edge = day - timedelta(days=day.weekday()) + timedelta(weeks=ahead)
    else:
        months = day.year * 12 + day.month - 1 + ahead
        edge = day.replace(year=months // 12, month=months % 12 + 1, day=1)
    return int((edge - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1)) - shift


@dataclass
class Bucket:
    id: str
    unit: str
    created: int
    priority: int = 0
    valid_from: int = 0
    valid_to: int | None = None
    floor: int = 0
    available: int = 0
    held: int = 0
    credited: int = 0
    refunded: int = 0
    consumed: int = 0
    expired: int = 0
    voided: int = 0
    overdrawn: int = 0
    number: int = 0
    """No later bucket of the account has it."""

    def is_valid(self, now: int) -> bool:
        return self.valid_from <= now < (NEVER if self.valid_to is None else self.valid_to)

    def is_expired(self, now: int) -> bool:
        return self.valid_to is not None and self.valid_to <= now

    def burn_rank(self) -> tuple[int, int, int, bytes]:
        end = NEVER if self.valid_to is None else self.valid_to
        return (self.priority, end, self.created, self.id.encode())

    def give_back(self, amount: int, now: int) -> None:
        """Held units that were not used."""
        self.held -= amount
        if self.is_expired(now):
            self.expired += amount
        else:
            self.available += amount

    def check(self) -> None:
        if self.credited + self.refunded > I64_MAX or self.consumed + self.expired + self.voided + self.held > I64_MAX:
            raise NotImplementedError("sums beyond 64 bits")


@dataclass
class Item:
    key: str | int
    unit: str
    slices: list[tuple[str, int]] = field(default_factory=list)
    """Ids of buckets with amounts, in burn order at the time of the grant."""
    granted: int = 0
    used: int = 0
    from_hold: int = 0
    direct: int = 0
    released: int = 0
    uncollected: int = 0
    last_grant: int | None = None

    @property
    def outstanding(self) -> int:
        return sum(amount for _, amount in self.slices)


@dataclass
class ItemReply:
    key: str | int
    code: str = "OK"
    granted: int = 0
    final: int = 0
    uncollected: int = 0
    cause: str | None = None

    def raw(self) -> list[Any]:
        row: list[Any] = [self.key, self.code, self.granted, self.final, self.uncollected]
        return row if self.cause is None else [*row, self.cause]


@dataclass
class Reply:
    """A stored answer: of a session with items, of everything else with an amount."""

    code: str
    version: int
    items: list[ItemReply] | None = None
    amount: int | None = None
    cause: str | None = None

    def raw(self, replayed: bool) -> list[Any]:
        if self.items is None and self.amount is None:
            return [self.code, self.version, int(replayed)]
        last: Any = self.amount if self.items is None else [item.raw() for item in self.items]
        row = [self.code, int(replayed), self.version, last]
        return row if self.cause is None else [*row, self.cause]


@dataclass
class Stored:
    """An answer with the body that it was given to."""

    body: object
    reply: Reply


@dataclass
class Session:
    id: str
    deadline: int
    validity: int
    tcc: int
    overrun: str
    version: int = 1
    items: list[Item] = field(default_factory=list)
    data: bytes = b""
    answers: dict[int, Stored] = field(default_factory=dict)
    has_dropped: bool = False
    gaps: list[tuple[int, int]] = field(default_factory=list)
    """Ranges of numbers below the window that were never answered, both ends included."""
    highest: int = 0

    def copied(self) -> Session:
        other = copy.copy(self)
        other.items = [replace(item, slices=list(item.slices)) for item in self.items]
        other.answers = dict(self.answers)
        other.gaps = list(self.gaps)
        return other

    def item(self, key: str | int, unit: str) -> Item | None:
        return next((item for item in self.items if (item.key, item.unit) == (key, unit)), None)


@dataclass
class Tombstone:
    forget: int
    number: int | None = None
    closing: Stored | None = None
    highest: int = -1
    """No number up to it is late use; -1 of a session that nobody knew."""
    was_released: bool = False
    expired: int | None = None
    """When its Tcc ran out, where it did."""
    late: dict[int, Stored] = field(default_factory=dict)


@dataclass
class Part:
    """What a debit took of a bucket."""

    bucket: str
    number: int
    amount: int


@dataclass
class DebitedItem:
    key: str | int | None
    unit: str
    parts: list[Part]
    counted: list[tuple[str, int, int | None]]
    """Limits that counted it: id, which making of it, and its period."""

    @property
    def left(self) -> int:
        return sum(part.amount for part in self.parts)


@dataclass
class Transaction:
    forget: int
    stored: Stored
    debit: list[DebitedItem] = field(default_factory=list)
    has_items: bool = False


@dataclass
class Counter:
    unit: str
    period: str
    value: int
    start: int | None


@dataclass
class Limit:
    id: str
    unit: str | None
    item: str | int | None
    amount: int
    period: str
    offset: int
    start: int | None
    making: int
    used: int = 0
    overrun: int = 0

    def counts(self, key: str | int | None, unit: str) -> bool:
        return self.unit == unit and (self.item is None or self.item == key)


@dataclass
class Account:
    id: str
    changed_at: int
    status: str = "active"
    version: int = 0
    identities: dict[str, str] = field(default_factory=dict)
    buckets: dict[str, Bucket] = field(default_factory=dict)
    counters: dict[str, Counter] = field(default_factory=dict)
    limits: dict[str, Limit] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    tombstones: dict[str, Tombstone] = field(default_factory=dict)
    transactions: dict[str, Transaction] = field(default_factory=dict)
    uncollected: dict[str, int] = field(default_factory=dict)
    numbers: int = 0

    def next_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def copied(self) -> Account:
        """A copy to change. Tombstones and transactions are shared: who changes one puts another in its place."""
        other = copy.copy(self)
        other.identities = dict(self.identities)
        other.buckets = {id: copy.copy(bucket) for id, bucket in self.buckets.items()}
        other.counters = {id: copy.copy(counter) for id, counter in self.counters.items()}
        other.limits = {id: copy.copy(limit) for id, limit in self.limits.items()}
        other.sessions = {id: session.copied() for id, session in self.sessions.items()}
        other.tombstones = dict(self.tombstones)
        other.transactions = dict(self.transactions)
        other.uncollected = dict(self.uncollected)
        return other

    def burning(self, unit: str, now: int) -> list[Bucket]:
        """The valid buckets of a unit, in the order in which they pay."""
        found = [bucket for bucket in self.buckets.values() if bucket.unit == unit and bucket.is_valid(now)]
        return sorted(found, key=Bucket.burn_rank)

    def held_of(self, limit: Limit) -> int:
        if limit.unit is None:
            return len(self.sessions)
        return sum(
            item.outstanding
            for session in self.sessions.values()
            for item in session.items
            if limit.counts(item.key, item.unit)
        )

    def left_of(self, limit: Limit, now: int) -> int:
        limit = self.limit_at(limit, now)
        taken = limit.used + self.held_of(limit)
        if taken > I64_MAX:
            raise NotImplementedError("sums beyond 64 bits")
        return max(0, limit.amount - taken)

    def limit_at(self, limit: Limit, now: int) -> Limit:
        """The limit as it reads: in a new period nothing is used, and what is held may be above the amount."""
        start = period_start(limit.period, limit.offset, now)
        if start == limit.start:
            return limit
        return replace(limit, start=start, used=0, overrun=max(0, self.held_of(limit) - limit.amount))

    def begin_period(self, limit: Limit, now: int) -> None:
        """The first use, debit or LIMIT in a period begins it: until then it only reads so."""
        read = self.limit_at(limit, now)
        limit.start, limit.used, limit.overrun = read.start, read.used, read.overrun
