"""Sessions over asyncio: many at a time, and cancelled in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from server import Server

from scurry_client import Denied, NewBucket, UnknownAccount, aio


def run(server: Server, body: Callable[[aio.Store], Awaitable[None]]) -> None:
    async def main() -> None:
        async with aio.Store.connect(server.url) as store:
            await store.create("org-7", buckets=[NewBucket("main", "ucent", 1000)])
            await body(store)

    asyncio.run(main())


async def balance(store: aio.Store) -> tuple[int, int]:
    bucket = (await store.get("org-7")).buckets[0]
    return bucket.available, bucket.held


def test_a_session(server: Server) -> None:
    async def body(store: aio.Store) -> None:
        async with store.session("org-7", unit="ucent", item="gpt-x", hold=300, ttl=120) as session:
            session.use(200)
            assert await session.extend(400) == 500
            await session.report()
            session.use(30)
            assert await balance(store) == (300, 500)
        assert await balance(store) == (770, 0)
        assert await session.settle() is None
        with pytest.raises(Denied):
            async with store.session("org-7", unit="ucent", hold=771):
                pass
        with pytest.raises(KeyError):
            async with store.session("org-7", unit="ucent", hold=300) as session:
                session.use(70)
                raise KeyError
        assert await balance(store) == (700, 0)
        with pytest.raises(UnknownAccount):
            await store.get("nobody")

    run(server, body)


def test_many_sessions_share_a_budget_and_none_exceeds_it(server: Server) -> None:
    async def one(store: aio.Store) -> int:
        try:
            async with store.session("org-7", unit="ucent", hold=100) as session:
                await asyncio.sleep(0)
                session.use(90)
        except Denied:
            return 0
        return session.used()

    async def body(store: aio.Store) -> None:
        used = sum(await asyncio.gather(*(one(store) for _ in range(50))))
        assert used > 0
        assert await balance(store) == (1000 - used, 0)

    run(server, body)


def test_a_task_that_is_cancelled_gives_back_its_hold(server: Server) -> None:
    async def body(store: aio.Store) -> None:
        is_open = asyncio.Event()

        async def work() -> None:
            async with store.session("org-7", unit="ucent", hold=300) as session:
                session.use(25)
                is_open.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await is_open.wait()
        assert await balance(store) == (700, 300)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await balance(store) == (975, 0)

    run(server, body)
