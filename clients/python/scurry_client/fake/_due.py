"""What is due comes first, each as of its own time: docs/ledger.md, section 3."""

from __future__ import annotations

from ._values import NEVER, Account, Bounds, Session, Tombstone


def carry_out(account: Account, now: int, bounds: Bounds) -> int:
    """Does all that is due; at how many times something was."""
    times = 0
    while (time := next_time(account)) <= now:
        times += 1
        _at(account, time, bounds)
    return times


def next_time(account: Account) -> int:
    times = [session.deadline for session in account.sessions.values()]
    times += [
        bucket.valid_to for bucket in account.buckets.values() if bucket.valid_to is not None and bucket.available > 0
    ]
    times += [tombstone.forget for tombstone in account.tombstones.values()]
    times += [transaction.forget for transaction in account.transactions.values()]
    return min(times, default=NEVER)


def _at(account: Account, time: int, bounds: Bounds) -> None:
    for session in sorted(account.sessions.values(), key=lambda session: session.id.encode()):
        if session.deadline <= time:
            close(account, session, time)
            forget = session.deadline + bounds.tombstone_ms
            ended = Tombstone(forget, highest=session.highest, expired=session.deadline)
            account.tombstones[session.id] = ended
    for bucket in sorted(account.buckets.values(), key=lambda bucket: bucket.id.encode()):
        if bucket.is_expired(time) and bucket.available > 0:
            bucket.expired += bucket.available
            bucket.available = 0
    account.tombstones = {id: found for id, found in account.tombstones.items() if found.forget > time}
    account.transactions = {id: found for id, found in account.transactions.items() if found.forget > time}
    account.changed_at = max(account.changed_at, time)


def close(account: Account, session: Session, now: int) -> None:
    """Every hold of the session goes back, and it is not open any more."""
    for item in session.items:
        for bucket, amount in item.slices:
            account.buckets[bucket].give_back(amount, now)
            item.released += amount
        item.slices = []
    del account.sessions[session.id]
