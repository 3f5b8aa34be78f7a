"""Commands that move what buckets have, by a transaction id: docs/ledger.md, section 12."""

from __future__ import annotations

import copy

from ._amounts import Amounts
from ._sessions import busy
from ._values import (
    NEVER,
    Account,
    Bounds,
    Bucket,
    DebitedItem,
    Reject,
    Reply,
    Stored,
    Transaction,
)
from ._words import Options, Words, invalid, no_item_twice, unexpected

NO_BUCKET = Bucket("", "", 0, number=-1)
Outcome = tuple[str, int, str | None]
"""Code, amount and cause."""


class DebitWords:
    """One ITEM of a DEBIT or REFUND."""

    def __init__(self, words: Words) -> None:
        self.key = words.key()
        self.unit = words.name("unit")
        self.amount = words.integer("amount", 1)

    def body(self) -> object:
        return (self.key, self.unit, self.amount)


def debit_items(words: Words) -> list[DebitWords]:
    items = []
    while not words.is_over():
        if words.peek() != "ITEM":
            raise unexpected(words)
        words.take("item")
        items.append(DebitWords(words))
    no_item_twice(items)
    return items


def bucket_options(words: Words, known: set[str]) -> Options:
    options = Options()
    while not words.is_over():
        keyword = words.peek()
        if keyword not in known:
            raise unexpected(words)
        words.take(keyword)
        if keyword in ("PERIOD", "OFFSET"):
            raise NotImplementedError(f"the fake has no allowances: {keyword}")
        if keyword == "REMOVE":
            options.put(keyword, True)
        elif keyword == "TO":
            options.put(keyword, words.time_or_none("to"))
        elif keyword == "UNIT":
            options.put(keyword, words.name("unit"))
        elif keyword == "PRIORITY":
            options.put(keyword, words.integer("priority", -(2**31), 2**31 - 1))
        elif keyword == "FLOOR":
            options.put(keyword, words.integer("floor", most=0))
        elif keyword == "AMOUNT":
            raise NotImplementedError("the fake has no allowances: AMOUNT")
        else:
            options.put(keyword, words.integer(keyword.lower(), 0))
    to = options.get("TO")
    if to is not None and to <= options.get("FROM", 0):
        raise invalid("TO must be above FROM")
    return options


class Command:
    """A command with a transaction id, its fields checked; `carry_out` is what a new one does."""

    def __init__(self, name: str, words: Words) -> None:
        self.name = name
        self.txn = words.txn()
        self.read(words)
        self.body = (name, *self.parts())

    def read(self, words: Words) -> None:
        raise NotImplementedError

    def parts(self) -> tuple[object, ...]:
        raise NotImplementedError

    def check(self, account: Account, now: int, bounds: Bounds) -> None:
        """Refusals that come before BUSY."""

    def amount_when_denied(self, account: Account) -> int:
        return 0

    def carry_out(self, account: Account, now: int, bounds: Bounds) -> Outcome:
        """What is done, and answered."""
        raise NotImplementedError

    def remember(self, transaction: Transaction) -> None:
        """What a later command needs of this one."""

    def run(self, account: Account, now: int, bounds: Bounds, is_chain_denied: bool) -> tuple[Reply, bool]:
        if known := account.transactions.get(self.txn):
            if known.stored.body != self.body:
                raise Reject("REQUEST_MISMATCH", "the transaction id was used with another body")
            return known.stored.reply, True
        self.check(account, now, bounds)
        check_transactions(account, now, bounds)
        if is_chain_denied:
            outcome: Outcome = ("CHAIN_DENIED", self.amount_when_denied(account), "chain")
        else:
            outcome = self.carry_out(account, now, bounds)
        code, amount, cause = outcome
        reply = Reply(code, account.version + 1, amount=amount, cause=cause)
        transaction = Transaction(now + bounds.transaction_ms, Stored(self.body, reply))
        if code == "OK":
            self.remember(transaction)
        account.transactions[self.txn] = transaction
        return reply, False


def check_transactions(account: Account, now: int, bounds: Bounds) -> None:
    if len(account.transactions) >= bounds.transactions_max:
        times = [transaction.forget for transaction in account.transactions.values()]
        raise busy("transactions_max", bounds.transactions_max, times, now)


def check_to(options: Options, now: int) -> None:
    """TO is looked at before the bucket is looked for."""
    to = options.get("TO")
    if to is not None and to <= now:
        raise invalid("TO must be in the future")


class Debit(Command):
    def read(self, words: Words) -> None:
        self.unit, self.amount = "", 0
        self.items: list[DebitWords] = []
        # A unit may be called item: then two words are all there is.
        if words.peek() == "ITEM" and len(words.words) - words.at > 2:
            self.items = debit_items(words)
        else:
            self.unit = words.name("unit")
            self.amount = words.integer("amount", 1)
        if not words.is_over():
            raise unexpected(words)

    def parts(self) -> tuple[object, ...]:
        return (self.unit, self.amount, tuple(item.body() for item in self.items))

    def check(self, account: Account, now: int, bounds: Bounds) -> None:
        if len(self.items) > bounds.items_max:
            raise invalid(f"items_max {bounds.items_max}: more items")

    def carry_out(self, account: Account, now: int, bounds: Bounds) -> Outcome:
        if account.status != "active":
            return "SERVICE_DENIED", 0, "status"
        before = account.copied()
        self.debited: list[DebitedItem] = []
        asked: list[tuple[str | int | None, str, int]] = [(item.key, item.unit, item.amount) for item in self.items]
        asked = asked or [(None, self.unit, self.amount)]
        for key, unit, amount in asked:
            amounts = Amounts(account, now)
            _, cause = amounts.grantable(unit, key, amount, amount)
            if cause:
                account.__dict__.update(before.__dict__)
                return "CREDIT_LIMIT_REACHED", 0, cause
            counted = []
            amounts.begin_periods(key, unit)
            for limit in amounts.limits(key, unit):
                limit.used += amount
                counted.append((limit.id, limit.making, limit.start))
            self.debited.append(DebitedItem(key, unit, amounts.debit(unit, amount), counted))
        return "OK", sum(amount for *_, amount in asked), None

    def remember(self, transaction: Transaction) -> None:
        transaction.debit = self.debited
        transaction.has_items = bool(self.items)


class Refund(Command):
    def read(self, words: Words) -> None:
        self.debit = words.id("debit-txn", 64)
        self.amount: int | None = None
        self.items: list[DebitWords] = []
        if words.peek() == "ITEM":
            self.items = debit_items(words)
        elif not words.is_over():
            self.amount = words.integer("amount", 1)
        if not words.is_over():
            raise unexpected(words)

    def parts(self) -> tuple[object, ...]:
        return (self.debit, self.amount, tuple(item.body() for item in self.items))

    def check(self, account: Account, now: int, bounds: Bounds) -> None:
        if len(self.items) > bounds.items_max:
            raise invalid(f"items_max {bounds.items_max}: more items")
        known = account.transactions.get(self.debit)
        if known is None or not known.debit:
            raise Reject("UNKNOWN_TRANSACTION", "no successful debit is remembered under this id")
        known = account.transactions[self.debit] = copy.deepcopy(known)
        self.wanted = self.shares(known)
        for item, amount in self.wanted:
            rest = amount
            for part in reversed(item.parts):
                taken = min(rest, part.amount)
                rest -= taken
                if taken and account.buckets.get(part.bucket, NO_BUCKET).number != part.number:
                    raise Reject("NOT_APPLICABLE", "a bucket of the debit was removed")

    def shares(self, known: Transaction) -> list[tuple[DebitedItem, int]]:
        """What goes back of which item of the debit."""
        wanted = []
        if self.items:
            for asked in self.items:
                found = [item for item in known.debit if (item.key, item.unit) == (asked.key, asked.unit)]
                if not found or found[0].left < asked.amount:
                    raise Reject("NOT_APPLICABLE", "refund at most what is left of the item")
                wanted.append((found[0], asked.amount))
        elif known.has_items:
            if self.amount is not None:
                raise Reject("NOT_APPLICABLE", "the debit has items: say which of them")
            wanted = [(item, item.left) for item in known.debit]
        else:
            item = known.debit[0]
            wanted = [(item, item.left if self.amount is None else self.amount)]
        if any(amount > item.left for item, amount in wanted) or not any(amount for _, amount in wanted):
            raise Reject("NOT_APPLICABLE", "refund at most what is left of the debit")
        return wanted

    def carry_out(self, account: Account, now: int, bounds: Bounds) -> Outcome:
        for item, amount in self.wanted:
            rest = amount
            for part in reversed(item.parts):
                taken = min(rest, part.amount)
                if taken:
                    bucket = account.buckets[part.bucket]
                    bucket.refunded += taken
                    if bucket.is_expired(now):
                        bucket.expired += taken
                    else:
                        bucket.available += taken
                    bucket.check()
                    part.amount -= taken
                    rest -= taken
            self.uncount(account, now, item, amount)
        return "OK", sum(amount for _, amount in self.wanted), None

    def uncount(self, account: Account, now: int, item: DebitedItem, amount: int) -> None:
        """Limits that have counted the debit in their present period have used less."""
        for id, making, start in item.counted:
            limit = account.limits.get(id)
            if limit is not None:
                present = account.limit_at(limit, now)
                if (present.making, present.start) == (making, start):
                    limit.used = max(0, limit.used - amount)


class Topup(Command):
    def read(self, words: Words) -> None:
        self.bucket = words.name("bucket")
        self.amount = words.integer("amount", 1)
        self.options = bucket_options(words, {"UNIT", "PRIORITY", "FROM", "TO", "FLOOR", "PERIOD", "OFFSET", "AMOUNT"})

    def parts(self) -> tuple[object, ...]:
        return (self.bucket, self.amount, tuple(sorted(self.options.given.items())))

    def amount_when_denied(self, account: Account) -> int:
        return account.buckets[self.bucket].available if self.bucket in account.buckets else 0

    def check(self, account: Account, now: int, bounds: Bounds) -> None:
        options = self.options
        check_to(options, now)
        bucket = account.buckets.get(self.bucket)
        if bucket is None:
            if "UNIT" not in options:
                raise Reject("UNKNOWN_BUCKET", "no bucket has this id, and its case matters: UNIT creates one")
            return
        if any(keyword in options for keyword in ("PRIORITY", "FROM", "FLOOR")):
            raise invalid("PRIORITY, FROM and FLOOR are for a new bucket: SCUR.BUCKET changes one")
        if "UNIT" in options and options.get("UNIT") != bucket.unit:
            raise invalid(f"the bucket's unit is {bucket.unit}, and its case matters")
        end = options.get("TO") if "TO" in options else bucket.valid_to
        if end is not None and end <= bucket.valid_from:
            raise invalid("TO must be above FROM")
        if end is not None and end <= now:
            raise Reject("BUCKET_EXPIRED", "the bucket's validity has ended")

    def carry_out(self, account: Account, now: int, bounds: Bounds) -> Outcome:
        if self.bucket not in account.buckets:
            make_room(account, now, bounds)
        if account.status == "closed":
            return "SERVICE_DENIED", self.amount_when_denied(account), "status"
        options = self.options
        if self.bucket not in account.buckets:
            account.buckets[self.bucket] = Bucket(
                self.bucket,
                options.get("UNIT"),
                now,
                options.get("PRIORITY", 0),
                options.get("FROM", 0),
                floor=options.get("FLOOR", 0),
                number=account.next_number(),
            )
        bucket = account.buckets[self.bucket]
        if "TO" in options:
            bucket.valid_to = options.get("TO")
        bucket.credited += self.amount
        bucket.available += self.amount
        bucket.check()
        return "OK", bucket.available, None


def make_room(account: Account, now: int, bounds: Bounds) -> None:
    """At the bound a bucket goes that is spent: empty, and expired for so long that no debit from it is known."""
    while len(account.buckets) >= bounds.buckets_max:
        empty = [found for found in account.buckets.values() if not found.available and not found.held]
        ends = {found.id: NEVER if found.valid_to is None else found.valid_to for found in empty}
        expired = {id: end for id, end in ends.items() if end <= now}
        spent = {id: end for id, end in expired.items() if end + bounds.transaction_ms <= now}
        if not spent:
            times = [end + bounds.transaction_ms for end in expired.values()]
            raise busy("buckets_max", bounds.buckets_max, times, now)
        del account.buckets[min(spent, key=lambda id: (spent[id], id.encode()))]


class Adjust(Command):
    def read(self, words: Words) -> None:
        self.bucket = words.name("bucket")
        self.amount = words.integer("amount", -(2**63) + 1)
        if self.amount == 0:
            raise invalid("amount must not be 0")

    def parts(self) -> tuple[object, ...]:
        return (self.bucket, self.amount)

    def check(self, account: Account, now: int, bounds: Bounds) -> None:
        bucket = bucket_of(account, self.bucket)
        if self.amount > 0 and bucket.is_expired(now):
            raise Reject("BUCKET_EXPIRED", "the bucket's validity has ended")

    def carry_out(self, account: Account, now: int, bounds: Bounds) -> Outcome:
        bucket = account.buckets[self.bucket]
        if self.amount < 0 and bucket.available + self.amount < bucket.floor:
            return "CREDIT_LIMIT_REACHED", bucket.available, "balance"
        bucket.available += self.amount
        if self.amount > 0:
            bucket.credited += self.amount
        else:
            bucket.voided -= self.amount
        bucket.check()
        return "OK", bucket.available, None


def bucket_of(account: Account, id: str) -> Bucket:
    bucket = account.buckets.get(id)
    if bucket is None:
        raise Reject("UNKNOWN_BUCKET", "no bucket has this id, and its case matters")
    return bucket


class Change(Command):
    """SCUR.BUCKET."""

    def read(self, words: Words) -> None:
        self.bucket = words.name("bucket")
        known = {"PRIORITY", "FROM", "TO", "FLOOR", "PERIOD", "OFFSET", "AMOUNT", "REMOVE"}
        self.options = bucket_options(words, known)
        given = self.options.given
        if not given:
            raise invalid("say PRIORITY, FROM, TO, FLOOR, PERIOD or REMOVE")
        if "REMOVE" in given and len(given) > 1:
            raise invalid("REMOVE stands alone")

    def parts(self) -> tuple[object, ...]:
        return (self.bucket, tuple(sorted(self.options.given.items(), key=str)))

    def check(self, account: Account, now: int, bounds: Bounds) -> None:
        options = self.options
        check_to(options, now)
        bucket = bucket_of(account, self.bucket)
        if "REMOVE" in options and (bucket.available or bucket.held):
            raise Reject("NOT_EMPTY", "the bucket still holds something")
        start = options.get("FROM", bucket.valid_from)
        end = options.get("TO") if "TO" in options else bucket.valid_to
        if ("FROM" in options or "TO" in options) and end is not None and end <= start:
            raise invalid("TO must be above FROM")

    def carry_out(self, account: Account, now: int, bounds: Bounds) -> Outcome:
        bucket, options = account.buckets[self.bucket], self.options
        if "REMOVE" in options:
            del account.buckets[self.bucket]
            return "OK", 0, None
        if options.get("FLOOR", bucket.available) > bucket.available:
            return "CREDIT_LIMIT_REACHED", bucket.available, "balance"
        bucket.priority = options.get("PRIORITY", bucket.priority)
        bucket.valid_from = options.get("FROM", bucket.valid_from)
        bucket.floor = options.get("FLOOR", bucket.floor)
        if "TO" in options:
            bucket.valid_to = options.get("TO")
        return "OK", bucket.available, None
