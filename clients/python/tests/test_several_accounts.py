"""Sessions on several accounts: all are opened or none, and each is settled."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from faulty import Faulty
from server import REPOSITORY, Server, until

from scurry_client import (
    Denied,
    Hold,
    NewBucket,
    OutcomeUnknown,
    Retry,
    SessionExists,
    Store,
    UnknownAccount,
    Unreachable,
)

NONE = Retry(patience=0)
HOLDS = [("alice", Hold("call", "cent", 300)), ("bob", Hold("call", "cent", 50))]


@pytest.fixture(autouse=True)
def accounts(store: Store) -> None:
    store.create("alice", buckets=[NewBucket("main", "cent", 1000)])
    store.create("bob", buckets=[NewBucket("main", "cent", 100)])


def balances(store: Store) -> list[tuple[int, int]]:
    buckets = [store.get(account).buckets[0] for account in ("alice", "bob")]
    return [(bucket.available, bucket.held) for bucket in buckets]


def losing(store: Store, fate: str, *lost: tuple[str, str]) -> Store:
    """Returns a store that loses these commands of these accounts, and tries each only once."""
    return Store(Faulty(store.connection, lambda _, words: fate if words[:2] in lost else None), retry=NONE)


def test_each_account_is_debited_what_its_session_used(store: Store) -> None:
    with store.sessions(HOLDS, ttl=60, id="call-1") as (alice, bob):
        assert balances(store) == [(700, 300), (50, 50)]
        assert {alice.id, bob.id} == {"call-1"}
        assert store.get_session("bob", "call-1").session.tcc == 60_000
        alice.use(100)
        assert bob.extend(50) == 100
        bob.use(70)
    assert balances(store) == [(900, 0), (30, 0)]
    assert not alice.is_open and not bob.is_open


def test_an_account_may_hold_several_items(store: Store) -> None:
    items = [Hold("input", "cent", 20), Hold("output", "cent", 30)]
    with store.sessions([("alice", Hold("call", "cent", 300)), ("bob", items)], overrun="held") as (_, bob):
        bob.use(5, "input")
        bob.use(90, "output")
    assert balances(store) == [(1000, 0), (65, 0)]
    assert bob.uncollected == 60


def test_an_account_occurs_once(store: Store) -> None:
    with pytest.raises(ValueError, match="alice occurs twice"):
        store.sessions([*HOLDS, HOLDS[0]])


def test_a_denied_account_leaves_nothing_held(store: Store) -> None:
    with pytest.raises(Denied) as denied, store.sessions([HOLDS[0], ("bob", Hold("call", "cent", 101))]):
        pytest.fail("the block runs")
    assert (denied.value.account, denied.value.reason) == ("bob", "balance")
    assert balances(store) == [(1000, 0), (100, 0)]
    assert store.totals().sessions == 0
    assert store.totals().units[0].consumed == 0


def test_a_refused_account_leaves_nothing_held(store: Store) -> None:
    holds = [HOLDS[0], ("carol", Hold("call", "cent", 1)), HOLDS[1]]
    with pytest.raises(UnknownAccount) as refused, store.sessions(holds, id="call-1"):
        pytest.fail("the block runs")
    assert refused.value.__notes__ == ["the error is about session call-1 of carol"]
    assert balances(store) == [(1000, 0), (100, 0)]


@pytest.mark.parametrize("fate", ["request", "answer"])
def test_a_reserve_that_arrives_late_opens_nothing(store: Store, fate: str) -> None:
    shaky = losing(store, fate, ("SCUR.RESERVE", "bob"))
    with pytest.raises(OutcomeUnknown) as unknown, shaky.sessions(HOLDS):
        pytest.fail("the block runs")
    assert balances(store) == [(1000, 0), (100, 0)]
    with pytest.raises(SessionExists):
        store.run(unknown.value.command)
    assert balances(store) == [(1000, 0), (100, 0)]
    assert store.totals().sessions == 0


def test_what_is_not_reached_is_noted(store: Store) -> None:
    away = losing(store, "refused", ("SCUR.RESERVE", "bob"), ("SCUR.RELEASE", "bob"), ("SCUR.TERMINATE", "alice"))
    with pytest.raises(Unreachable) as unreachable, away.sessions(HOLDS, ttl=0.02, id="call-1"):
        pytest.fail("the block runs")
    notes = unreachable.value.__notes__
    assert notes[0] == "the error is about session call-1 of bob"
    assert notes[1].startswith("session call-1 of bob was not cancelled: ")
    assert notes[2].startswith("session call-1 of alice was not settled: ")
    until(lambda: balances(store) == [(1000, 0), (100, 0)], "the time to live ends the hold")


@pytest.mark.parametrize("account", ["alice", "bob"])
def test_one_that_is_not_settled_leaves_the_others_settled(store: Store, account: str) -> None:
    shaky = losing(store, "request", ("SCUR.TERMINATE", account))
    with pytest.raises(OutcomeUnknown) as unknown, shaky.sessions(HOLDS) as (alice, bob):
        alice.use(100)
        bob.use(10)
    assert unknown.value.command.words[1] == account
    settled = {"alice": [(700, 300), (90, 0)], "bob": [(900, 0), (50, 50)]}
    assert balances(store) == settled[account]
    store.run(unknown.value.command)
    assert balances(store) == [(900, 0), (90, 0)]


def test_the_first_error_has_the_others_as_notes(store: Store) -> None:
    shaky = losing(store, "request", ("SCUR.TERMINATE", "alice"), ("SCUR.TERMINATE", "bob"))
    with pytest.raises(OutcomeUnknown) as unknown, shaky.sessions(HOLDS, id="call-1"):
        pass
    assert unknown.value.command.words[1] == "bob"
    (noted,) = unknown.value.__notes__
    assert noted.startswith("session call-1 of alice was not settled: ")
    with pytest.raises(KeyError) as raised, shaky.sessions(HOLDS, id="call-2"):
        raise KeyError("mine")
    assert [noted.split(" was ")[0] for noted in raised.value.__notes__] == [
        "session call-2 of bob",
        "session call-2 of alice",
    ]


def test_an_exception_settles_each(store: Store) -> None:
    with pytest.raises(KeyError), store.sessions(HOLDS) as (alice, _):
        alice.use(100)
        raise KeyError
    assert balances(store) == [(900, 0), (100, 0)]


CLIENT = """
import sys
from scurry_client import Hold, Store
store = Store.connect(sys.argv[1])
with store.sessions([("alice", Hold("call", "cent", 300)), ("bob", Hold("call", "cent", 50))], ttl=2) as sessions:
    sessions[0].use(100)
    print([store.get(session.account).buckets[0].held for session in sessions], flush=True)
    sys.stdin.read()
"""


def test_the_holds_of_a_client_that_is_killed_end_by_themselves(server: Server, store: Store) -> None:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "clients/python")}
    pipe: Any = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, server.url], env=environment, stdin=pipe, stdout=pipe, text=True
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "[300, 50]\n"
        client.kill()
    until(lambda: balances(store) == [(1000, 0), (100, 0)], "the time to live ends the holds")
