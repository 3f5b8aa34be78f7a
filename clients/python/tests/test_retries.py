"""Lost requests and lost answers: the same words are sent again, and nothing is executed twice."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis
import redis.sentinel
from faulty import Faulty
from server import Server, limits, until

from scurry_client import (
    Mismatch,
    NewBucket,
    OutcomeUnknown,
    Retry,
    Store,
    UnknownAccount,
    UnknownSession,
    Unreachable,
)

QUICK = Retry(patience=60, pause=0.001, pause_max=0.001)
NONE = Retry(patience=0)


def balance(store: Store) -> tuple[int, int]:
    bucket = store.get("org-7").buckets[0]
    return bucket.available, bucket.held


@pytest.fixture(autouse=True)
def account(store: Store) -> None:
    store.create("org-7", buckets=[NewBucket("main", "ucent", 1000)])


@pytest.mark.parametrize("fate", ["request", "answer", "refused"])
def test_every_request_of_a_session_may_be_lost_once(store: Store, fate: str) -> None:
    faulty = Faulty(store.connection, lambda attempt, _: fate if attempt % 2 == 0 else None)
    shaky = Store(faulty, retry=QUICK)
    with shaky.session("org-7", unit="ucent", hold=300) as session:
        session.use(100)
        assert session.extend(100) == 300
        session.use(50)
    assert balance(store) == (850, 0)
    assert len(faulty.sent) == 6
    assert faulty.sent[::2] == faulty.sent[1::2]
    assert store.audit("org-7").ok


def test_an_answer_that_stays_away_leaves_the_outcome_unknown(store: Store) -> None:
    lost = Store(Faulty(store.connection, lambda *_: "answer"), retry=NONE)
    with pytest.raises(OutcomeUnknown) as unknown:
        lost.debit("org-7", "d1", "ucent", 10)
    # The same words show that the command was executed, and it is not executed again.
    told = store.run(unknown.value.command)
    assert (told.replayed, told.amount) == (True, 10)
    assert balance(store) == (990, 0)


def test_a_server_that_is_not_reached_has_done_nothing(store: Store) -> None:
    away = Store(Faulty(store.connection, lambda *_: "refused"), retry=NONE)
    with pytest.raises(Unreachable):
        away.debit("org-7", "d1", "ucent", 10)
    assert balance(store) == (1000, 0)


def test_what_has_no_id_is_not_sent_again(store: Store) -> None:
    faulty = Faulty(store.connection, lambda *_: "answer")
    with pytest.raises(OutcomeUnknown):
        Store(faulty, retry=QUICK).create("bob")
    assert len(faulty.sent) == 1
    assert store.get("bob").version == 1
    # A command that did not reach the server is sent until it does.
    late = Faulty(store.connection, lambda attempt, _: "refused" if attempt < 3 else None)
    assert Store(late, retry=QUICK).create("carol").version == 1
    assert len(late.sent) == 4


def test_a_request_in_doubt_is_settled_by_the_next_one(store: Store) -> None:
    fates = iter([None, "answer", None, None, None])
    shaky = Store(Faulty(store.connection, lambda *_: next(fates)), retry=NONE)
    with shaky.session("org-7", unit="ucent", hold=300) as session:
        session.use(100)
        with pytest.raises(OutcomeUnknown):
            session.report()
        session.use(20)
        assert session.used() == 120
    assert balance(store) == (880, 0)


def test_a_report_that_never_arrived_is_sent_at_the_end(store: Store) -> None:
    fates = iter([None, "request", None, None])
    faulty = Faulty(store.connection, lambda *_: next(fates))
    with Store(faulty, retry=NONE).session("org-7", unit="ucent", hold=300) as session:
        session.use(100)
        with pytest.raises(OutcomeUnknown):
            session.report()
    assert faulty.sent[1] == faulty.sent[2]
    assert faulty.sent[3][0] == "SCUR.TERMINATE"
    assert balance(store) == (900, 0)


@pytest.mark.parametrize("fate", ["request", "answer"])
@pytest.mark.parametrize(("more", "left"), [(100, 300), (5000, 200)], ids=["granted", "denied"])
def test_an_extension_that_keeps_is_sent_again_in_the_same_words(store: Store, fate: str, more: int, left: int) -> None:
    fates = iter([None, fate, *[None] * 3])
    faulty = Faulty(store.connection, lambda *_: next(fates))
    with Store(faulty, retry=NONE).session("org-7", unit="ucent", hold=300) as session:
        session.use(100)
        with pytest.raises(OutcomeUnknown):
            session.extend(more, keep=True)
        session.report()
        assert (session.held(), session.left()) == (left, left)
        assert balance(store) == (900 - left, left)
    assert "KEEPHOLD" in faulty.sent[1]
    assert faulty.sent[1] == faulty.sent[2]
    assert balance(store) == (900, 0)


def test_an_exception_is_not_hidden_by_a_lost_connection(store: Store) -> None:
    fates = iter([None, "request"])
    shaky = Store(Faulty(store.connection, lambda *_: next(fates)), retry=NONE)
    with pytest.raises(KeyError) as raised, shaky.session("org-7", unit="ucent", hold=300):
        raise KeyError("mine")
    assert "was not settled" in raised.value.__notes__[0]
    fates = iter([None, "request"])
    shaky = Store(Faulty(store.connection, lambda *_: next(fates)), retry=NONE)
    with pytest.raises(OutcomeUnknown), shaky.session("org-7", unit="ucent", hold=300):
        pass


def test_the_same_session_of_two_processes_is_one(store: Store) -> None:
    first = store.session("org-7", unit="ucent", hold=300, id="job-1")
    first.__enter__()
    # The process died, and another one starts the same job again.
    with store.session("org-7", unit="ucent", hold=300, id="job-1") as again:
        assert balance(store) == (700, 300)
        again.use(10)
    assert balance(store) == (990, 0)
    with pytest.raises(Mismatch):
        store.debit("org-7", "t", "ucent", 1)
        store.debit("org-7", "t", "ucent", 2)


def test_a_refusal_is_not_sent_again(store: Store) -> None:
    faulty = Faulty(store.connection, lambda *_: None)
    with pytest.raises(UnknownAccount):
        Store(faulty, retry=QUICK).debit("nobody", "t", "ucent", 1)
    assert len(faulty.sent) == 1


@pytest.mark.parametrize("fate", ["request", "answer"])
def test_a_report_that_is_lost_before_the_session_goes_is_debited_once(store: Store, fate: str) -> None:
    fates = iter([None, fate, *[None] * 9])
    shaky = Store(Faulty(store.connection, lambda *_: next(fates)), retry=NONE)
    with shaky.session("org-7", unit="ucent", hold=300) as session:
        session.use(100)
        with pytest.raises(OutcomeUnknown):
            session.report()
        assert session.left() == 200
        session.use(20)
        store.release("org-7", session.id)
    assert session.used() == 120
    assert balance(store) == (880, 0)


def test_what_the_server_has_forgotten_is_not_guessed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Server(*limits(tmp_path, {"tombstone_ms": 1})) as server, Store.connect(server.url) as sure:
        sure.create("org-7", buckets=[NewBucket("main", "ucent", 1000)])
        fates = iter([None, "answer", *[None] * 9])
        shaky = Store(Faulty(sure.connection, lambda *_: next(fates)), retry=NONE)
        session = shaky.session("org-7", unit="ucent", hold=300)
        with pytest.raises(OutcomeUnknown) as unknown, session:
            session.use(100)
        with pytest.raises(UnknownSession):
            until(lambda: not sure.run(unknown.value.command), "the session is forgotten")
        monkeypatch.setattr("scurry_client._meter.REMEMBERED", -1.0)
        with pytest.raises(OutcomeUnknown):
            session.settle()
        assert balance(sure) == (900, 0)


@pytest.mark.parametrize(
    "error",
    [
        redis.ReadOnlyError("another node leads now"),
        redis.exceptions.ClusterDownError("no node leads shard 0"),
        redis.BusyLoadingError("loading"),
        redis.sentinel.MasterNotFoundError("no leader"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_while_a_group_elects_a_leader_nothing_is_done(store: Store, error: Exception) -> None:
    class Electing:
        attempts = 0

        def execute_command(self, *words: object, **options: object) -> object:
            self.attempts += 1
            if self.attempts < 4:
                raise error
            return store.connection.execute_command(*words, **options)

    electing = Electing()
    # It is retried even without an id, because it was refused, not lost.
    assert Store(electing, retry=QUICK).create("bob").version == 1
    assert electing.attempts == 4
    with pytest.raises(Unreachable):
        Store(Electing(), retry=NONE).create("carol")


def test_a_defect_of_the_program_is_not_hidden() -> None:
    class Broken:
        def execute_command(self, *words: object, **options: object) -> object:
            raise KeyError("mine")

    with pytest.raises(KeyError):
        Store(Broken(), retry=QUICK).get("alice")
