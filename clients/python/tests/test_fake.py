"""The fake goes through the scenario scripts as the server does, and says by name what it does not do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scenarios import START, Line, Script
from test_scenarios import ALL, Recorder, run

from scurry_client import Busy, Denied, NewBucket, Store, UnknownSession, aio
from scurry_client.fake import AsyncFakeConnection, Bounds, Clock, FakeConnection

# Where a script ends for the fake, and by which name.
BEYOND = {
    "11-unique-identities.scn": "the fake has no SCUR.DUMP",
    "12-allowance-at-the-edges.scn": "the fake has no allowances: PERIOD",
    "12-allowance.scn": "the fake has no allowances: PERIOD",
    "12-no-more-buckets.scn": "the fake has no SCUR.LOAD",
    "12-order-of-checks.scn": "sums beyond 64 bits",
    "12-overflow.scn": "sums beyond 64 bits",
    "12-periods-and-duplicates.scn": "the fake has no allowances: PERIOD",
    "13-precedence.scn": "sums beyond 64 bits",
    "14-limits.scn": "sums beyond 64 bits",
    "15-chains.scn": "sums beyond 64 bits",
    "entities.scn": "the fake has no ENTITY.GET",
    "moving-in-time.scn": "the fake has no SCUR.DUMP",
    "moving.scn": "the fake has no SCUR.DUMP",
    "server-entities.scn": "the fake has no ENTITY.PUT",
    "server-find.scn": "the fake has no SCUR.DUMP",
    "server-keys.scn": "the fake has no PING",
    "server-limiter.scn": "the fake has no INCREX",
    "server-list.scn": "the fake has no SET",
    "server-locks.scn": "the fake has no SET",
    "server-plain-writes.scn": "the fake has no ENTITY.PUT",
}


def bounds_of(script: Script) -> Bounds:
    given: dict[str, Any] = {name: int(value) if value.isdigit() else value for name, value in script.limits.items()}
    return Bounds(**given)


@pytest.mark.parametrize("script", ALL, ids=lambda script: script.name)
def test_a_script_goes_through_the_fake(script: Script) -> None:
    clock = Clock(START)
    connection = FakeConnection(clock, bounds=bounds_of(script), unique_kinds=script.unique)

    def go_on(line: Line) -> None:
        if line.kind == "at":
            clock.now_ms = line.time
        elif line.kind == "advance":
            clock.now_ms += line.time
        else:
            assert connection.tick() == line.expected, f"{script.name}:{line.number}"

    store = Store(Recorder(connection))
    beyond = None
    try:
        run(script, store, go_on, words_count=False)
    except NotImplementedError as error:
        beyond = str(error)
    assert beyond == BEYOND.get(script.name)


def test_a_program_is_tested_without_a_server() -> None:
    clock = Clock()
    store = Store(FakeConnection(clock))
    store.create("org-7", buckets=[NewBucket("main", "ucent", 1000)])
    with store.session("org-7", unit="ucent", item="gpt-x", hold=300, ttl=120) as session:
        session.use(200)
        assert session.extend(400) == 500
        session.use(30)
    assert store.get("org-7").buckets[0].available == 770
    with pytest.raises(Denied) as denied, store.session("org-7", unit="ucent", hold=771):
        pass
    assert denied.value.reason == "balance"
    assert store.audit("org-7").ok


def test_time_goes_on_when_it_is_told_to() -> None:
    clock = Clock()
    connection = FakeConnection(clock)
    store = Store(connection)
    store.create("org-7", buckets=[NewBucket("main", "ucent", 1000)])
    with store.session("org-7", unit="ucent", hold=300, ttl=120) as session:
        session.use(10)
        clock.advance(121)
        assert store.get("org-7").buckets[0].held == 0
        assert connection.tick() == 1
        with pytest.raises(UnknownSession):
            session.extend(5)
    assert store.get("org-7").buckets[0].available == 990


def test_a_bound_is_busy() -> None:
    clock = Clock()
    store = Store(FakeConnection(clock, bounds=Bounds(sessions_max=1)))
    store.create("org-7", buckets=[NewBucket("main", "ucent", 1000)])
    with store.session("org-7", unit="ucent", hold=1, ttl=60), pytest.raises(Busy) as busy:
        store.reserve("org-7", "other", 0)
    assert (busy.value.limit, busy.value.value, busy.value.retry_after) == ("sessions_max", 1, 60.0)


def test_the_fake_is_awaited() -> None:
    async def main() -> None:
        store = aio.Store(AsyncFakeConnection())
        await store.create("org-7", buckets=[NewBucket("main", "ucent", 1000)])
        async with store.session("org-7", unit="ucent", hold=300) as session:
            session.use(1)
        assert (await store.get("org-7")).buckets[0].available == 999

    asyncio.run(main())


def test_what_it_does_not_do_it_says_by_name() -> None:
    store = Store(FakeConnection())
    for call, name in (
        (lambda: store.watch("0"), "SCUR.WATCH"),
        (lambda: store.statement("a"), "SCUR.STATEMENT"),
        (lambda: store.entity_get("e"), "ENTITY.GET"),
        (lambda: store.topup("a", "t", "b", 1, period="day"), "PERIOD"),
    ):
        with pytest.raises(NotImplementedError, match=name):
            call()
