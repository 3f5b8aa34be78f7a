"""Plain commands against a real server: replies as types, refusals and denials as errors."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis
import valkey
from server import Server, limits

from scurry_client import (
    Balance,
    Busy,
    ChainAnswer,
    DebitItem,
    DebitPart,
    Denied,
    Invalid,
    Mismatch,
    Moved,
    NewBucket,
    NewIdentity,
    ReserveItem,
    ServerError,
    Store,
    UnknownAccount,
    UnknownTransaction,
    commands,
)


def test_an_account_from_its_beginning_to_its_end(durable_store: Store) -> None:
    store = durable_store
    made = store.create(
        "alice",
        identities=[NewIdentity("msisdn", "4912345")],
        buckets=[NewBucket("main", "cent", 1000, floor=-50, mark=200), NewBucket("gift", "cent", 100, priority=-1)],
    )
    assert (made.code, made.version, made.replayed) == ("OK", 1, None)
    assert store.topup("alice", "t1", "main", 500) == Moved("OK", False, 2, 1500, None, None)
    assert store.topup("alice", "t1", "main", 500).replayed
    assert store.topup("alice", "t2", "extra", 5, unit="octet", period="day", allowance=7).amount == 5
    assert store.debit("alice", "d1", "cent", 400).amount == 400
    assert store.refund("alice", "r1", "d1", 100).amount == 100
    items = [DebitItem("input", "cent", 3), DebitItem(7, "cent", 4)]
    assert store.debit("alice", "d2", items=items).amount == 7
    assert store.refund("alice", "r2", "d2", items=[DebitItem(7, "cent", 4)]).amount == 4
    assert store.refund("alice", "r3", "d1", 1, carry=True).amount == 1
    assert store.refund("alice", "r4", "d2", items=[DebitItem("input", "cent", 1)], carry=True).amount == 1
    assert store.counter("alice", "c1", "calls", 3, period="day").amount == 3
    assert store.limit("alice", "l1", "cap", unit="cent", amount=500, period="month").amount == 500
    assert store.limit("alice", "l2", "open", amount=3, sessions=True).amount == 3
    assert store.adjust("alice", "a1", "main", -10).code == "OK"

    shown = store.get("alice")
    assert shown.status == "active"
    assert [(found.kind, found.value) for found in shown.identities] == [("msisdn", "4912345")]
    buckets = {bucket.id: bucket for bucket in shown.buckets}
    assert buckets["main"].valid_to is None and buckets["main"].floor == -50
    assert [(found.bucket, found.mark) for found in shown.bucket_marks] == [("main", 200)]
    assert store.bucket("alice", "b1", "main", mark="none").code == "OK"
    assert store.get("alice").bucket_marks == ()
    assert buckets["extra"].allowance is not None and buckets["extra"].allowance.period == "day"
    assert sum(bucket.available for bucket in shown.buckets if bucket.unit == "cent") == 1600 - 400 + 101 - 2 - 10
    limits = {limit.id: limit for limit in shown.limits}
    assert limits["cap"].resets_at is not None and limits["open"].unit is None
    assert shown.counters[0].value == 3

    assert store.find("msisdn", "4912345").accounts == ("alice",)
    held = store.find("msisdn", "4912345", session="none")
    assert (held.accounts, held.standing, held.given_up_at) == (("alice",), "present", None)
    assert [found.account for found in store.list_accounts(0, count=100).accounts] == ["alice"]
    assert store.audit("alice").ok
    assert store.totals().accounts == 1
    entries = store.statement("alice", unit="cent", count=3).entries
    assert entries[0].fields["event"] == "created"
    image = store.dump("alice")
    assert store.load("alice", image, replace=True) == "OK"
    assert store.status("alice", "closed").code == "OK"
    with pytest.raises(Denied) as denied:
        store.debit("alice", "d3", "cent", 1)
    assert (denied.value.code, denied.value.reason) == ("SERVICE_DENIED", "status")


def test_a_refusal_has_a_type_and_changes_nothing(store: Store) -> None:
    with pytest.raises(UnknownAccount) as unknown:
        store.get("nobody")
    assert unknown.value.number == 20 and "SCUR.CREATE" in unknown.value.message
    store.create("alice", buckets=[NewBucket("main", "cent", 1000)])
    store.debit("alice", "d1", "cent", 1)
    with pytest.raises(Mismatch):
        store.debit("alice", "d1", "cent", 2)
    with pytest.raises(Invalid, match="amount"):
        store.debit("alice", "d2", "cent", -5)
    store.connection.execute_command("SET", "plain", "value")
    with pytest.raises(ServerError, match="WRONGTYPE"):
        store.get("plain")
    assert store.get("alice").version == 2


def test_a_denial_tells_why(store: Store) -> None:
    store.create("alice", buckets=[NewBucket("main", "cent", 100)])
    with pytest.raises(Denied) as denied:
        store.debit("alice", "d1", "cent", 101)
    assert (denied.value.reason, denied.value.limit, denied.value.account) == ("balance", None, "alice")
    assert isinstance(denied.value.reply, Moved) and denied.value.reply.amount == 0
    with pytest.raises(Denied) as denied:
        store.debit("alice", "d2", "CENT", 1)
    assert denied.value.reason == "no_bucket"
    store.limit("alice", "l1", "a-day", unit="cent", amount=10, period="day")
    with pytest.raises(Denied) as denied:
        store.debit("alice", "d3", "cent", 11)
    assert (denied.value.reason, denied.value.limit) == ("limit", "a-day")
    with pytest.raises(Denied):
        store.debit("alice", "d3", "cent", 11)
    # A denial of a question is an answer, not an error.
    assert store.check("alice", "cent", 11).code == "CREDIT_LIMIT_REACHED"
    assert store.check("alice", "cent", 11).amount == 10


def test_a_chain_is_denied_by_the_account_that_cannot_pay(store: Store) -> None:
    for account in ("{acme}", "{acme}:team"):
        store.create(account, buckets=[NewBucket("main", "token", 1000)])
    store.limit("{acme}:team", "l1", "cap", unit="token", amount=500)
    done = store.chain(
        commands.debit("{acme}", "move-1", "token", 50), commands.topup("{acme}:team", "move-1", "main", 50)
    )
    assert (done.code, done.denied, [reply.code for reply in done.replies]) == ("OK", 0, ["OK", "OK"])
    with pytest.raises(Denied) as denied:
        store.chain(
            commands.debit("{acme}", "d1", "token", 600),
            commands.debit("{acme}:team", "d1", "token", 600),
        )
    assert (denied.value.account, denied.value.reason, denied.value.limit) == ("{acme}:team", "limit", "cap")
    assert isinstance(denied.value.reply, ChainAnswer)
    assert denied.value.reply.replies[0].code == "CHAIN_DENIED"
    assert store.get("{acme}").buckets[0].available == 950


def test_entities(store: Store) -> None:
    written = store.entity_put("user:7", b"\x00\xff", version=5)
    assert (written.applied, written.version) == (True, 5)
    alone = store.entity_get("user:7")
    assert alone is not None and alone.value == b"\x00\xff" and alone.version is None
    whole = store.entity_get("user:7", withversion=True)
    assert whole is not None and (whole.version, whole.value, whole.expires) == (5, b"\x00\xff", -1)
    assert store.entity_del("user:7").applied
    assert store.entity_get("user:7") is None


def test_busy_says_which_bound_and_when_it_goes(tmp_path: Path) -> None:
    with Server(*limits(tmp_path, {"sessions_max": 1})) as server, Store.connect(server.url) as store:
        store.create("alice", buckets=[NewBucket("main", "cent", 100)])
        with store.session("alice", unit="cent", hold=1, ttl=60), pytest.raises(Busy) as busy:
            store.reserve("alice", "other", 0)
    assert (busy.value.limit, busy.value.value) == ("sessions_max", 1)
    assert busy.value.retry_after is not None and 0 < busy.value.retry_after <= 60


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("is_decoded", [False, True])
@pytest.mark.parametrize("library", [redis.Redis, valkey.Valkey])
def test_any_connection_serves(server: Server, library: type, is_decoded: bool, protocol: int) -> None:
    connection = library(port=server.port, protocol=protocol, decode_responses=is_decoded)
    with Store(connection) as store:
        store.create("alice", buckets=[NewBucket("main", "cent", 1000)])
        blob = b"\x00\xff\r\n"
        store.reserve("alice", "s1", 0, data=blob, items=[commands.ReserveItem(1, "cent", 300)])
        shown = store.get_session("alice", "s1")
        assert (shown.session.data, shown.session.items[0].key, shown.session.items[0].outstanding) == (blob, 1, 300)
        assert store.dump("alice")[0] > 0
        with pytest.raises(UnknownAccount):
            store.get("bob")
        with pytest.raises(ServerError):
            connection.set("plain", 1)
            store.get("plain")


def test_open_holds_and_what_became_of_a_transaction(durable_store: Store) -> None:
    store = durable_store
    store.create("olga", buckets=[NewBucket("main", "cent", 100)])
    for session in ("s2", "s1"):
        store.reserve("olga", session, 0, items=[ReserveItem("a", "cent", requested=5)])
    page = store.holds("olga", count=1)
    assert (page.version, page.next) == (3, "s1")
    assert page.buckets == (Balance("main", "cent", 90, 10),)
    rest = store.holds("olga", count=1, after=page.next)
    assert rest.next is None and rest.version == page.version
    holds = [*page.holds, *rest.holds]
    assert [(hold.session, hold.key, hold.bucket, hold.amount) for hold in holds] == [
        ("s1", "a", "main", 5),
        ("s2", "a", "main", 5),
    ]
    assert sum(hold.amount for hold in holds) == page.buckets[0].held

    store.debit("olga", "d1", "cent", 30)
    store.refund("olga", "r1", "d1", 10)
    paid = store.get_transaction("olga", "d1")
    assert (paid.code, paid.amount, paid.cause) == ("OK", 30, None)
    assert paid.parts == (DebitPart("main", "cent", 30, 10, None),)
    with pytest.raises(Denied):
        store.debit("olga", "d2", "cent", 1000)
    assert store.get_transaction("olga", "d2").cause == "balance"
    with pytest.raises(UnknownTransaction):
        store.get_transaction("olga", "d3")
    entries = store.statement("olga", transaction="d2").entries
    assert [entry.fields["event"] for entry in entries] == ["answered"]


def test_a_deletion_is_repeated(store: Store) -> None:
    store.create("piet")
    store.status("piet", "closed", txn="c1")
    first = store.delete("piet", force=True, iftxn="c1")
    again = store.delete("piet", force=True, iftxn="c1")
    assert [(done.version, done.replayed) for done in (first, again)] == [(3, False), (0, True)]
    store.create("piet")
    with pytest.raises(UnknownTransaction):
        store.delete("piet", force=True, iftxn="c1")
