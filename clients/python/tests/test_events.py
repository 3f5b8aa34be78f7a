"""Events of a real server: each one once, in order, and from where the last reader stopped."""

from __future__ import annotations

import asyncio
from itertools import islice
from pathlib import Path

from server import Server

from scurry_client import Event, NewBucket, Retry, Store, Threshold, aio
from scurry_client.events import FilePositions, Following, MemoryPositions, batches, events, events_async


def words(found: list[Event]) -> list[object]:
    return [event.fields["event"] for event in found]


def test_a_reader_goes_on_where_the_last_one_stopped(durable_store: Store, tmp_path: Path) -> None:
    store = durable_store
    positions = FilePositions(tmp_path / "position")
    assert positions.load() is None
    store.create("alice", buckets=[NewBucket("main", "cent", 100)])
    first = list(islice(events(store, positions), 3))
    assert words(first) == ["created", "bucket-added", "credited"]
    # The reader has not asked for more, so it sees them again, with the same ids.
    assert list(islice(events(store, positions), 3)) == first
    store.debit("alice", "d1", "cent", 5)
    reader = events(store, positions)
    seen = list(islice(reader, 4))
    assert (words(seen)[-1], seen[-1].fields["amount"], seen[-1].fields["transaction"]) == ("debited", 5, "d1")
    store.debit("alice", "d2", "cent", 6)
    assert next(reader).fields["transaction"] == "d2"
    assert positions.load() is not None
    assert next(events(store, positions)).fields["transaction"] == "d2"


def test_a_reader_outlives_a_server_that_is_killed(durable_server: Server) -> None:
    server = durable_server
    with Store.connect(server.url, retry=Retry(patience=0.05)) as store:
        patient = Store.connect(server.url)
        patient.create("alice", buckets=[NewBucket("main", "cent", 100)])
        reader = events(store, MemoryPositions(), Following(block_ms=50))
        seen = [next(reader) for _ in range(3)]
        for number in range(2):
            server.kill()
            server.start()
            patient.debit("alice", f"d{number}", "cent", 1)
            seen.append(next(reader))
        assert words(seen) == ["created", "bucket-added", "credited", "debited", "debited"]
        assert len({event.id for event in seen}) == 5


def test_thresholds_and_one_account(durable_store: Store) -> None:
    store = durable_store
    for account in ("alice", "bob"):
        store.create(account, buckets=[NewBucket("main", "cent", 100)])
    store.debit("bob", "d1", "cent", 90)
    following = Following(low=[Threshold("cent", 50)], account="bob")
    reply = next(batches(store, MemoryPositions(), following))
    assert words(list(reply.events)) == ["created", "bucket-added", "credited", "debited", "low"]
    assert {event.fields["account"] for event in reply.events} == {"bob"}


def test_events_are_awaited(durable_server: Server) -> None:
    async def read() -> list[Event]:
        async with aio.Store.connect(durable_server.url) as store:
            await store.create("alice", buckets=[NewBucket("main", "cent", 100)])
            found = []
            async for event in events_async(store, MemoryPositions()):
                found.append(event)
                if len(found) == 3:
                    break
            return found

    assert words(asyncio.run(read())) == ["created", "bucket-added", "credited"]
