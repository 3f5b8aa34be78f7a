"""Sessions against a real server: use is debited once, and the rest is returned."""

from __future__ import annotations

import math
import time

import pytest
from server import until

from scurry_client import Denied, Hold, NewBucket, SessionExists, Store, UnknownSession, aio


def balance(store: Store, account: str = "org-7") -> tuple[int, int]:
    buckets = store.get(account).buckets
    return sum(bucket.available for bucket in buckets), sum(bucket.held for bucket in buckets)


@pytest.fixture(autouse=True)
def account(store: Store) -> None:
    store.create("org-7", buckets=[NewBucket("main", "ucent", 1000)])


def test_what_was_used_is_debited_and_the_rest_goes_back(store: Store) -> None:
    with store.session("org-7", unit="ucent", item="gpt-x", hold=300, ttl=120) as session:
        assert balance(store) == (700, 300)
        session.use(100)
        session.use(50)
        assert (session.held(), session.left(), session.used()) == (300, 150, 150)
    assert balance(store) == (850, 0)
    assert not session.is_open
    assert session.settle() is None


def test_a_session_is_extended_by_what_is_asked(store: Store) -> None:
    with store.session("org-7", unit="ucent", hold=300) as session:
        session.use(200)
        assert session.extend(400) == 500
        assert balance(store) == (300, 500)
        session.use(450)
        session.report()
        assert balance(store) == (300, 50)
        assert (session.left(), session.used()) == (50, 650)
        shown = store.get_session("org-7", session.id).session
        assert (shown.items[0].used, shown.items[0].key) == (650, "-")
    assert balance(store) == (350, 0)


def test_an_exception_gives_back_what_was_not_used(store: Store) -> None:
    with pytest.raises(KeyError), store.session("org-7", unit="ucent", hold=300) as session:
        session.use(40)
        raise KeyError
    assert balance(store) == (960, 0)


def test_more_than_there_is_is_denied_and_nothing_is_held(store: Store) -> None:
    with pytest.raises(Denied) as denied, store.session("org-7", unit="ucent", item="gpt-x", hold=1001):
        pass
    assert (denied.value.reason, denied.value.item, denied.value.account) == ("balance", "gpt-x", "org-7")
    assert balance(store) == (1000, 0)
    with store.session("org-7", unit="ucent", hold=5000, minimum=1) as session:
        assert session.held() == 1000


def test_an_extension_that_is_denied_leaves_the_hold(store: Store) -> None:
    with store.session("org-7", unit="ucent", hold=600) as session:
        session.use(100)
        with pytest.raises(Denied):
            session.extend(500)
        assert session.left() == 900
        assert session.extend(100, minimum=0) == 900
        session.use(900)
    assert balance(store) == (0, 0)


def test_an_extension_that_keeps_is_granted_whole_or_leaves_the_hold_as_it_was(store: Store) -> None:
    with store.session("org-7", unit="ucent", hold=300) as session:
        session.use(100)
        assert session.extend(200, keep=True) == 400
        assert balance(store) == (500, 400)
        session.use(50)
        with pytest.raises(Denied) as denied:
            session.extend(501, keep=True)
        assert (denied.value.reason, denied.value.item, denied.value.account) == ("balance", "-", "org-7")
        assert (session.held(), session.left(), session.used()) == (350, 350, 150)
        assert balance(store) == (500, 350)
        assert session.extend(500, keep=True) == 850
        session.use(900)
        with pytest.raises(Denied):
            session.extend(1, keep=True)
        assert session.held() == 0
    assert balance(store) == (-50, 0)


def test_an_extension_that_keeps_takes_a_part_that_is_enough(store: Store) -> None:
    with store.session("org-7", unit="ucent", hold=600) as session:
        session.use(100)
        with pytest.raises(Denied):
            session.extend(1000, minimum=401, keep=True)
        assert (session.left(), balance(store)) == (500, (400, 500))
        assert session.extend(1000, minimum=400, keep=True) == 900
        assert session.extend(1000, minimum=0, keep=True) == 900
        assert balance(store) == (0, 900)


def test_an_extension_that_is_denied_restarts_the_time_to_live(store: Store) -> None:
    with store.session("org-7", unit="ucent", hold=300, ttl=60) as session:
        before = store.get_session("org-7", session.id).session.deadline
        until(lambda: time.time() * 1000 + 60_000 > before + 1, "a later moment")
        with pytest.raises(Denied):
            session.extend(5000, keep=True)
        assert store.get_session("org-7", session.id).session.deadline > before


def test_an_item_that_is_denied_keeps_its_hold_beside_one_that_is_granted(store: Store) -> None:
    with store.session("org-7", holds=[Hold("input", "ucent", 400), Hold("output", "ucent", 500)]) as session:
        session.use(100, "input")
        session.use(150, "output")
        with pytest.raises(Denied) as denied:
            session.extend(200, "output", keep=True)
        assert (denied.value.item, denied.value.reason) == ("output", "balance")
        assert (session.left("input"), session.left("output")) == (300, 350)
        assert balance(store) == (100, 650)
    assert balance(store) == (750, 0)


def test_an_item_that_gets_less_than_its_rest_keeps_it(store: Store) -> None:
    with store.session("org-7", holds=[Hold("input", "ucent", 400), Hold("output", "ucent", 500)]) as session:
        store.limit("org-7", "l1", "cap", unit="ucent", item="input", amount=250)
        session.use(100, "input")
        assert session.extend(50, "output", keep=True) == 550
        assert (session.held("input"), session.left("input")) == (300, 300)
        assert balance(store) == (50, 850)
    assert balance(store) == (900, 0)


def test_a_session_of_which_no_more_than_the_hold_is_debited(store: Store) -> None:
    with store.session("org-7", unit="ucent", hold=300, overrun="held") as session:
        session.use(450)
    assert balance(store) == (700, 0)
    assert session.uncollected == 150


def test_a_session_that_is_cancelled_before_it_is_opened_holds_nothing(store: Store) -> None:
    store.release("org-7", "job-1", cancel=True)
    with pytest.raises(SessionExists), store.session("org-7", unit="ucent", hold=300, id="job-1"):
        pass
    assert balance(store) == (1000, 0)


def test_use_beyond_the_hold_is_debited(store: Store) -> None:
    with store.session("org-7", unit="ucent", hold=300) as session:
        session.use(450)
        assert session.left() == 0
    assert balance(store) == (550, 0)
    with store.session("org-7", unit="ucent", hold=300, overrun="clamp") as session:
        session.use(700)
    assert balance(store) == (0, 0)
    assert session.uncollected == 150


def test_several_items_are_held_together_or_not_at_all(store: Store) -> None:
    holds = [Hold("input", "ucent", 400), Hold("output", "ucent", 500)]
    with store.session("org-7", holds=holds) as session:
        session.use(100, "input")
        session.use(200, "output")
        session.extend(50, "output")
        assert (session.left("input"), session.left("output")) == (300, 350)
        with pytest.raises(ValueError, match="name the item"):
            session.use(1)
    assert balance(store) == (700, 0)
    with pytest.raises(Denied) as denied, store.session("org-7", holds=holds):
        pass
    assert denied.value.item == "output"
    assert balance(store) == (700, 0)


def test_a_session_whose_time_ran_out_is_debited_late(store: Store) -> None:
    with store.session("org-7", unit="ucent", hold=300, ttl=0.02) as session:
        session.use(120)
        until(lambda: balance(store) == (1000, 0), "the hold goes back")
        with pytest.raises(UnknownSession):
            session.extend(10)
    assert balance(store) == (880, 0)
    with pytest.raises(UnknownSession), store.session("org-7", unit="ucent", hold=300, late_use=False) as session:
        session.use(120)
        store.release("org-7", session.id)
    assert balance(store) == (880, 0)
    with store.session("org-7", unit="ucent", hold=300) as session:
        store.release("org-7", session.id)
    assert balance(store) == (880, 0)


def test_a_session_without_time_to_live_is_refused(store: Store) -> None:
    awaited = aio.Store.connect()
    for ttl in (0, -1, 0.0001, math.nan, math.inf):
        with pytest.raises(ValueError, match="ttl"):
            store.session("org-7", unit="ucent", hold=300, ttl=ttl)
        with pytest.raises(ValueError, match="ttl"):
            awaited.session("org-7", unit="ucent", hold=300, ttl=ttl)
    with store.session("org-7", unit="ucent", hold=300, ttl=1.5) as session:
        assert store.get_session("org-7", session.id).session.tcc == 1500


def test_an_account_that_is_suspended_ends_its_sessions(store: Store) -> None:
    with store.session("org-7", unit="ucent", hold=300) as session:
        session.use(100)
        store.status("org-7", "suspended")
        with pytest.raises(Denied) as denied:
            session.report()
        assert denied.value.code == "SERVICE_DENIED"
        assert not session.is_open
    assert balance(store) == (900, 0)
