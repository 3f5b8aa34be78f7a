"""What the server shows in steps, as one walk: the accounts of a store, and the statement of an account."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Literal

from ._commands import Event, ListedAccount

if TYPE_CHECKING:
    from . import aio
    from ._store import Store

Status = Literal["active", "suspended", "closed"]
STEP = 1000


def accounts(store: Store, *, prefix: str | None = None, status: Status | None = None) -> Iterator[ListedAccount]:
    """Every account that is there all the time; in a cluster those of one node."""
    cursor = "0"
    while True:
        step = store.list_accounts(cursor, count=STEP, prefix=prefix, status=status)
        yield from step.accounts
        cursor = step.cursor
        if cursor == "0":
            return


async def accounts_async(
    store: aio.Store, *, prefix: str | None = None, status: Status | None = None
) -> AsyncIterator[ListedAccount]:
    """As `accounts`, over a store that is awaited."""
    cursor = "0"
    while True:
        step = await store.list_accounts(cursor, count=STEP, prefix=prefix, status=status)
        for account in step.accounts:
            yield account
        cursor = step.cursor
        if cursor == "0":
            return


def statement(
    store: Store,
    account: str,
    *,
    from_ms: int | None = None,
    to_ms: int | None = None,
    unit: str | None = None,
) -> Iterator[Event]:
    """What has happened to an account in a period, as far as the server keeps it: `Store.statement` tells how far."""
    cursor = None
    while True:
        step = store.statement(account, from_ms=from_ms, to_ms=to_ms, unit=unit, count=STEP, cursor=cursor)
        yield from step.entries
        cursor = step.next
        if cursor is None:
            return


async def statement_async(
    store: aio.Store,
    account: str,
    *,
    from_ms: int | None = None,
    to_ms: int | None = None,
    unit: str | None = None,
) -> AsyncIterator[Event]:
    """As `statement`, over a store that is awaited."""
    cursor = None
    while True:
        step = await store.statement(account, from_ms=from_ms, to_ms=to_ms, unit=unit, count=STEP, cursor=cursor)
        for entry in step.entries:
            yield entry
        cursor = step.next
        if cursor is None:
            return
