"""Sessions over asyncio: many at a time, and cancelled in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import redis
from server import Server

from scurry_client import Denied, Hold, NewBucket, OutcomeUnknown, Retry, SessionExists, UnknownAccount, aio

HOLDS = [("org-7", Hold("call", "ucent", 300)), ("org-8", Hold("call", "ucent", 200))]


def run(server: Server, body: Callable[[aio.Store], Awaitable[None]]) -> None:
    async def main() -> None:
        async with aio.Store.connect(server.url) as store:
            await store.create("org-7", buckets=[NewBucket("main", "ucent", 1000)])
            await body(store)

    asyncio.run(main())


async def balance(store: aio.Store, account: str = "org-7") -> tuple[int, int]:
    bucket = (await store.get(account)).buckets[0]
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


def run_with_two(server: Server, body: Callable[[aio.Store], Awaitable[None]]) -> None:
    async def both(store: aio.Store) -> None:
        await store.create("org-8", buckets=[NewBucket("main", "ucent", 1000)])
        await body(store)

    run(server, both)


class Losing:
    """A connection that calls `lose` instead of returning the answer of one command of one account."""

    def __init__(self, store: aio.Store, lost: tuple[str, str], lose: Callable[[], Awaitable[None]]) -> None:
        self.connection = store.connection
        self.lost = lost
        self.lose = lose

    async def execute_command(self, *words: Any, **options: Any) -> Any:
        reply = await self.connection.execute_command(*words, **options)
        if words[:2] == self.lost:
            await self.lose()
        return reply


async def time_out() -> None:
    raise redis.TimeoutError("lost on its way back")


def test_an_extension_that_keeps_leaves_the_hold(server: Server) -> None:
    async def body(store: aio.Store) -> None:
        async with store.session("org-7", unit="ucent", hold=300, overrun="held") as session:
            session.use(100)
            with pytest.raises(Denied):
                await session.extend(5000, keep=True)
            assert session.left() == 200
            assert await session.extend(5000, minimum=100, keep=True) == 900
            assert await balance(store) == (0, 900)
            session.use(901)
        assert await balance(store) == (0, 0)
        assert session.uncollected == 1

    run(server, body)


def test_several_accounts_are_held_or_none(server: Server) -> None:
    async def body(store: aio.Store) -> None:
        async with store.sessions(HOLDS, ttl=60) as (first, second):
            assert await balance(store, "org-8") == (800, 200)
            first.use(100)
            second.use(50)
        assert await balance(store) == (900, 0)
        assert await balance(store, "org-8") == (950, 0)
        with pytest.raises(Denied) as denied:
            async with store.sessions([HOLDS[0], ("org-8", Hold("call", "ucent", 951))]):
                pytest.fail("the block runs")
        assert denied.value.account == "org-8"
        assert await balance(store) == (900, 0)
        assert (await store.totals()).sessions == 0

    run_with_two(server, body)


def test_a_lost_answer_of_one_account_leaves_nothing_held(server: Server) -> None:
    async def body(store: aio.Store) -> None:
        shaky = aio.Store(Losing(store, ("SCUR.RESERVE", "org-8"), time_out), retry=Retry(patience=0))
        with pytest.raises(OutcomeUnknown) as unknown:
            async with shaky.sessions(HOLDS):
                pytest.fail("the block runs")
        with pytest.raises(SessionExists):
            await store.run(unknown.value.command)
        assert (await balance(store), await balance(store, "org-8")) == ((1000, 0), (1000, 0))

    run_with_two(server, body)


def test_one_account_that_is_not_settled_leaves_the_others_settled(server: Server) -> None:
    async def body(store: aio.Store) -> None:
        shaky = aio.Store(Losing(store, ("SCUR.TERMINATE", "org-8"), time_out), retry=Retry(patience=0))
        with pytest.raises(OutcomeUnknown) as unknown:
            async with shaky.sessions(HOLDS) as (first, _):
                first.use(100)
        assert unknown.value.command.words[1] == "org-8"
        assert await balance(store) == (900, 0)

    run_with_two(server, body)


@pytest.mark.parametrize("command", ["SCUR.RESERVE", "SCUR.TERMINATE"])
def test_a_task_that_is_cancelled_during_a_request_leaves_nothing_held(server: Server, command: str) -> None:
    async def body(store: aio.Store) -> None:
        is_waiting = asyncio.Event()

        async def wait() -> None:
            is_waiting.set()
            await asyncio.Event().wait()

        async def work() -> None:
            async with aio.Store(Losing(store, (command, "org-8"), wait)).sessions(HOLDS) as (first, _):
                first.use(100)

        task = asyncio.create_task(work())
        await is_waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await balance(store) == (1000 if command == "SCUR.RESERVE" else 900, 0)
        assert await balance(store, "org-8") == (1000, 0)

    run_with_two(server, body)
