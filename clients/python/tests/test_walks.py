"""Walks return every step, and end."""

from __future__ import annotations

import asyncio

import pytest
from server import Server

from scurry_client import NewBucket, Store, aio, walks


@pytest.fixture(autouse=True)
def steps_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "STEP", 3)


def test_accounts_and_a_statement(durable_store: Store) -> None:
    store = durable_store
    names = {f"org-{number}" for number in range(20)}
    for name in names:
        store.create(name, buckets=[NewBucket("main", "cent", 100)])
    store.create("other")
    store.status("org-3", "suspended")
    assert sorted(found.account for found in walks.accounts(store)) == sorted(names | {"other"})
    assert {found.account for found in walks.accounts(store, prefix="org-")} == names
    assert [found.account for found in walks.accounts(store, status="suspended")] == ["org-3"]
    for number in range(10):
        store.debit("org-7", f"d{number}", "cent", 1)
    entries = list(walks.statement(store, "org-7", unit="cent"))
    assert [entry.fields["transaction"] for entry in entries[-10:]] == [f"d{number}" for number in range(10)]
    assert sum(int(entry.fields.get("change") or 0) for entry in entries) == 90


def test_walks_that_are_awaited(durable_server: Server) -> None:
    async def main() -> None:
        async with aio.Store.connect(durable_server.url) as store:
            for number in range(10):
                await store.create(f"org-{number}", buckets=[NewBucket("main", "cent", 100)])
            assert len({found.account async for found in walks.accounts_async(store)}) == 10
            for number in range(10):
                await store.debit("org-7", f"d{number}", "cent", 1)
            entries = [entry async for entry in walks.statement_async(store, "org-7")]
            assert sum(int(entry.fields.get("change") or 0) for entry in entries) == 90

    asyncio.run(main())
