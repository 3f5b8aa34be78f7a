"""Iteration over results that the server returns in steps: the accounts of a store, and the statement of an account."""

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
    """Yields every account that exists during the whole walk; in a cluster, the accounts of one node."""
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
    """Like `accounts`, over an asyncio store."""
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
    """Yields an account's events in a period, as far back as the server keeps them: `Store.statement` tells how far."""
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
    """Like `statement`, over an asyncio store."""
    cursor = None
    while True:
        step = await store.statement(account, from_ms=from_ms, to_ms=to_ms, unit=unit, count=STEP, cursor=cursor)
        for entry in step.entries:
            yield entry
        cursor = step.next
        if cursor is None:
            return
