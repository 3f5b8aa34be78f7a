"""A server with two threads, which cluster clients see as a cluster: each command goes to its thread."""

from __future__ import annotations

import asyncio
from pathlib import Path

from redis.asyncio.cluster import RedisCluster as AsyncCluster
from redis.cluster import RedisCluster
from server import Server

from scurry_client import Hold, NewBucket, Store, aio, commands
from scurry_client.events import Following, MemoryPositions, batches

ACCOUNTS = [f"org-{number}" for number in range(8)]


def test_sessions_of_many_accounts(tmp_path: Path) -> None:
    with Server("--threads", "2", "--durability", "write", directory=tmp_path) as server:
        store = Store(RedisCluster(port=server.port, host="127.0.0.1"))
        for account in ACCOUNTS:
            store.create(account, buckets=[NewBucket("main", "ucent", 1000)])
            with store.session(account, unit="ucent", hold=300) as session:
                session.use(100)
                session.extend(50)
        for account in ACCOUNTS:
            assert store.get(account).buckets[0].available == 900
        with store.sessions([(account, Hold("-", "ucent", 300)) for account in ACCOUNTS]) as sessions:
            for session in sessions:
                session.use(100)
        for account in ACCOUNTS:
            assert store.get(account).buckets[0].available == 800
        pair = ("{acme}", "{acme}:team")
        for account in pair:
            store.create(account, buckets=[NewBucket("main", "ucent", 1000)])
        assert store.chain(*(commands.debit(account, "d", "ucent", 1) for account in pair)).code == "OK"
        # Each thread has its own events.
        plain = Store.connect(server.url)
        seen = set()
        for thread in range(2):
            for reply in batches(plain, MemoryPositions(), Following(thread=thread)):
                seen |= {event.fields["account"] for event in reply.events}
                if reply.next == reply.end:
                    break
        assert seen == {*ACCOUNTS, *pair}
        store.close()
        plain.close()


def test_sessions_that_are_awaited() -> None:
    async def main(port: int) -> None:
        async with aio.Store(AsyncCluster(host="127.0.0.1", port=port)) as store:
            for account in ACCOUNTS:
                await store.create(account, buckets=[NewBucket("main", "ucent", 1000)])
                async with store.session(account, unit="ucent", hold=300) as session:
                    session.use(100)
                assert (await store.get(account)).buckets[0].available == 900

    with Server("--threads", "2") as server:
        asyncio.run(main(server.port))
