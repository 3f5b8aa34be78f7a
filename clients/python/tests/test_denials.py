"""Each command, denied in each way that the command table names: both stores tell the cause and time of the reply."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
import redis
from server import Server

import generate
from scurry_client import (
    Answer,
    ChainAnswer,
    Checked,
    Command,
    DebitItem,
    Denied,
    Hold,
    NewBucket,
    ReserveItem,
    Store,
    TerminateItem,
    UpdateItem,
    aio,
    commands,
)
from scurry_client._commands import DENIALS

TABLE = json.loads(generate.TABLE.read_text())["commands"]
TOLD = {(spec["name"], code) for spec in TABLE for code in spec["codes"] if code in DENIALS}
CHAINED = {name for name, code in TOLD if code == "CHAIN_DENIED"} - {"SCUR.CHAIN"}
# All accounts of a chain are in one hash slot. Those that are charged have an open session s1.
RATE = "{d}rate"  # Its limit `cap` has counted all of its 10, and lets the first half go within 30 minutes.
FEW = "{d}few"  # It has 10 cents.
OWING = "{d}owing"  # It has 5 cents less than nothing, as far as its floor.
FULL = "{d}full"  # It has as many open sessions as its limit `open` allows.
LATER = "{d}later"  # As the first, but its limit lets the first half go within 150 minutes.
SUSPENDED = "{d}suspended"
CLOSED = "{d}closed"
OTHER = "{d}other"  # Nothing denies it anything.
NO_BUCKET = "CENT"


@pytest.fixture(autouse=True)
def accounts(store: Store) -> None:
    for account in (RATE, FEW, FULL, SUSPENDED, OTHER):
        store.create(account, buckets=[NewBucket("main", "cent", 10 if account == FEW else 1000)])
        store.reserve(account, "s1", 0)
    store.create(CLOSED)
    store.create(OWING, buckets=[NewBucket("main", "cent", 0, floor=-5)])
    store.adjust(OWING, "owed", "main", -5)
    store.debit(OTHER, "paid", "cent", 10)
    store.limit(RATE, "l1", "cap", unit="cent", amount=10, rate="1h")
    store.debit(RATE, "used", "cent", 10)
    store.limit(FULL, "l1", "open", amount=1, sessions=True)
    store.status(SUSPENDED, "suspended")
    store.status(CLOSED, "closed")


@dataclass(frozen=True)
class Case:
    """A command that is denied by itself, and the reason for it."""

    command: Command[Any]
    cause: str
    item: str | int | None = None
    code: str = "CREDIT_LIMIT_REACHED"
    is_timed: bool = False
    """Whether waiting helps."""

    @property
    def name(self) -> str:
        return " ".join(map(str, self.command.words))


def denied_by_each() -> list[Case]:
    """Returns the denials of commands that take an amount from an account, by each cause."""
    found = []
    for account, unit, cause, code in (
        (RATE, "cent", "limit cap", "CREDIT_LIMIT_REACHED"),
        (FEW, "cent", "balance", "CREDIT_LIMIT_REACHED"),
        (FEW, NO_BUCKET, "no_bucket", "CREDIT_LIMIT_REACHED"),
        (SUSPENDED, "cent", "status", "SERVICE_DENIED"),
    ):
        amount = 5 if account == RATE else 11
        two = [ReserveItem("a", unit, amount, amount), ReserveItem("b", unit, amount, amount)]
        again = [UpdateItem("a", unit, requested=amount, min=amount)]
        for command, item in (
            (commands.debit(account, "t1", unit, amount), None),
            (commands.debit(account, "t1", items=[DebitItem("a", unit, amount)]), None),
            (commands.check(account, unit, amount), None),
            (commands.transfer(account, "t1", unit, amount, OTHER, "main"), None),
            (commands.reserve(account, "s2", 0, items=two), "a"),
            (commands.reserve(account, "s2", 0, closeondenial=True, items=two), "a"),
            (commands.reserve(account, "s2", 0, keepopen=True, items=two), "a"),
            (commands.update(account, "s1", 1, items=again), "a"),
            (commands.update(account, "s1", 1, closeondenial=True, items=again), "a"),
            (commands.update(account, "s1", 1, keephold=True, items=again), "a"),
        ):
            found.append(Case(command, cause, item, code, is_timed=account == RATE))
    return found


ALONE = [
    *denied_by_each(),
    Case(commands.reserve(FULL, "s2", 0), "limit open"),
    Case(commands.reserve(FULL, "s2", 0, items=[ReserveItem("a", "cent", 1)]), "limit open", "a"),
    Case(commands.transfer(FULL, "t1", "cent", 1, OTHER, "main"), "limit open"),
    Case(commands.reserve(SUSPENDED, "s2", 0), "status", code="SERVICE_DENIED"),
    Case(commands.update(SUSPENDED, "s1", 1), "status", code="SERVICE_DENIED"),
    Case(commands.topup(CLOSED, "t1", "main", 1, unit="cent"), "status", code="SERVICE_DENIED"),
    Case(commands.adjust(OWING, "t1", "main", -1), "bucket main"),
    Case(commands.bucket(OWING, "t1", "main", floor=-4), "bucket main"),
]
IN_CHAINS = [case for case in ALONE if case.command.name in CHAINED]
# Commands that nothing but the rest of their chain denies.
DRAGGED: list[Command[Any]] = [
    commands.debit(OTHER, "t1", "cent", 1),
    commands.debit(OTHER, "t1", items=[DebitItem("a", "cent", 1)]),
    commands.topup(OTHER, "t1", "main", 1),
    commands.refund(OTHER, "t1", "paid", 1),
    commands.reserve(OTHER, "s2", 0),
    commands.reserve(OTHER, "s2", 0, items=[ReserveItem("a", "cent", 1)]),
    commands.update(OTHER, "s1", 1),
    commands.update(OTHER, "s1", 1, items=[UpdateItem("a", "cent", used=1, requested=1)]),
    commands.terminate(OTHER, "s1", 1),
    commands.terminate(OTHER, "s1", 1, items=[TerminateItem("a", "cent", 1)]),
]


def test_no_denial_of_the_table_is_left_out() -> None:
    tried = {(case.command.name, case.code) for case in ALONE}
    tried |= {("SCUR.CHAIN", case.code) for case in IN_CHAINS}
    tried |= {(command.name, "CHAIN_DENIED") for command in DRAGGED} | {("SCUR.CHAIN", "CHAIN_DENIED")}
    assert tried == TOLD
    # TRANSACTION shows the denial of another command.
    with_cause = {spec["name"] for spec in TABLE if "cause" in spec["reply"]} - {"SCUR.TRANSACTION"}
    assert with_cause <= {name for name, _ in tried}


@dataclass(frozen=True)
class Way:
    """A kind of store and connection."""

    is_awaited: bool
    protocol: int

    def run(self, server: Server, command: Command[Any]) -> Any:
        if not self.is_awaited:
            with Store.connect(server.url, protocol=self.protocol) as store:
                return store.run(command)

        async def main() -> Any:
            async with aio.Store.connect(server.url, protocol=self.protocol) as store:
                return await store.run(command)

        return asyncio.run(main())

    def denial(self, server: Server, command: Command[Any]) -> Denied:
        with pytest.raises(Denied) as denied:
            self.run(server, command)
        return denied.value


each_way = pytest.mark.parametrize(
    "way",
    [Way(is_awaited=False, protocol=2), Way(is_awaited=True, protocol=3)],
    ids=["blocking", "awaited"],
)


def allowed_at(server: Server, amount: int = 5, account: str = RATE) -> int:
    """Returns the time that a question without this client is answered with."""
    with redis.Redis(port=server.port) as connection:
        code, _, cause, time = connection.execute_command("SCUR.CHECK", account, "cent", amount)
    assert code == b"CREDIT_LIMIT_REACHED" and cause.startswith(b"limit ") and time > 0
    return int(time)


def check_denial(case: Case, denied: Denied, server: Server) -> None:
    reason, _, named = case.cause.partition(" ")
    assert (denied.code, denied.reason, denied.item) == (case.code, reason, case.item)
    assert denied.account == case.command.words[1]
    assert denied.limit == (named if reason == "limit" else None)
    assert denied.bucket == (named if reason == "bucket" else None)
    assert denied.allowed_at == (allowed_at(server) if case.is_timed else None)


@each_way
@pytest.mark.parametrize("case", ALONE, ids=lambda case: case.name)
def test_a_command_that_is_denied(server: Server, way: Way, case: Case) -> None:
    if case.command.only_reads:
        answer = way.run(server, case.command)
        expected = allowed_at(server) if case.is_timed else None
        assert isinstance(answer, Checked)
        assert (answer.code, answer.cause, answer.allowed_at) == (case.code, case.cause, expected)
        return
    check_denial(case, way.denial(server, case.command), server)
    # A replay tells the same.
    check_denial(case, way.denial(server, case.command), server)


@each_way
@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("case", IN_CHAINS, ids=lambda case: case.name)
def test_a_command_that_denies_its_chain(server: Server, way: Way, case: Case, is_first: bool) -> None:
    links = [commands.debit(OTHER, "t1", "cent", 1), case.command]
    chain = commands.chain(*reversed(links) if is_first else links)
    denied = way.denial(server, chain)
    check_denial(case, denied, server)
    assert isinstance(denied.reply, ChainAnswer)
    dragged = denied.reply.replies[1 if is_first else 0]
    assert denied.reply.denied == (1 if is_first else 2)
    assert (dragged.code, dragged.cause, dragged.allowed_at) == ("CHAIN_DENIED", "chain", None)
    check_denial(case, way.denial(server, chain), server)


@each_way
@pytest.mark.parametrize("command", DRAGGED, ids=lambda command: " ".join(map(str, command.words)))
def test_a_command_that_its_chain_denies(server: Server, way: Way, command: Command[Any]) -> None:
    way.denial(server, commands.chain(command, commands.debit(FEW, "t1", "cent", 11)))
    item = "a" if "ITEM" in command.words and command.name != "SCUR.DEBIT" else None
    case = Case(command, "chain", item, "CHAIN_DENIED")
    check_denial(case, way.denial(server, command), server)
    check_denial(case, way.denial(server, commands.chain(command)), server)


@each_way
def test_a_denial_that_is_looked_up(server: Server, way: Way) -> None:
    way.denial(server, commands.debit(RATE, "t1", "cent", 5))
    found = way.run(server, commands.get_transaction(RATE, "t1"))
    assert (found.code, found.cause, found.allowed_at) == ("CREDIT_LIMIT_REACHED", "limit cap", allowed_at(server))


@each_way
def test_items_that_are_denied_together_wait_for_the_last_of_them(server: Server, way: Way) -> None:
    def asked(second: str) -> list[ReserveItem]:
        return [ReserveItem("a", "cent", 2, 2), ReserveItem("b", second, 8, 8)]

    denied = way.denial(server, commands.reserve(RATE, "s2", 0, items=asked("cent")))
    assert (denied.item, denied.limit, denied.allowed_at) == ("a", "cap", allowed_at(server, 8))
    assert isinstance(denied.reply, Answer)
    assert [item.allowed_at for item in denied.reply.items] == [allowed_at(server, 2), allowed_at(server, 8)]
    # Waiting does not help the second one.
    denied = way.denial(server, commands.reserve(RATE, "s3", 0, items=asked(NO_BUCKET)))
    assert (denied.item, denied.limit, denied.allowed_at) == ("a", "cap", None)


@each_way
def test_commands_that_deny_their_chain_together_wait_for_the_last_of_them(server: Server, way: Way) -> None:
    with Store.connect(server.url) as store:
        store.create(LATER, buckets=[NewBucket("main", "cent", 1000)])
        store.limit(LATER, "l1", "slow", unit="cent", amount=10, rate="5h")
        store.debit(LATER, "used", "cent", 10)
    first = commands.debit(RATE, "t1", "cent", 5)
    dragged = commands.debit(OTHER, "t1", "cent", 1)
    later = [ReserveItem("a", "cent", 5, 5), ReserveItem("b", "cent", 6, 6)]
    denied = way.denial(server, commands.chain(dragged, first, commands.reserve(LATER, "s1", 0, items=later)))
    assert (denied.account, denied.limit) == (RATE, "cap")
    assert denied.allowed_at == allowed_at(server, 6, LATER)
    # Waiting does not help the second one.
    first = commands.debit(RATE, "t2", "cent", 5)
    denied = way.denial(server, commands.chain(first, commands.debit(LATER, "t2", "cent", 11)))
    assert (denied.account, denied.limit, denied.allowed_at) == (RATE, "cap", None)


@each_way
def test_an_item_that_is_denied_beside_one_that_is_granted(server: Server, way: Way) -> None:
    with Store.connect(server.url) as store:
        store.topup(RATE, "t1", "bytes", 10, unit="octet")
    items = [UpdateItem("a", "octet", requested=5), UpdateItem("b", "cent", requested=5, min=5)]
    answer = way.run(server, commands.update(RATE, "s1", 1, items=items))
    assert answer.code == "OK"
    assert (answer.items[0].granted, answer.items[0].cause, answer.items[0].allowed_at) == (5, None, None)
    assert (answer.items[1].cause, answer.items[1].allowed_at) == ("limit cap", allowed_at(server))


def test_a_session_that_is_not_opened(server: Server, store: Store) -> None:
    async def main() -> Denied:
        async with aio.Store.connect(server.url) as awaited:
            with pytest.raises(Denied) as denied:
                async with awaited.session(RATE, unit="cent", item="a", hold=5):
                    pytest.fail("the block runs")
        return denied.value

    with pytest.raises(Denied) as denied, store.session(RATE, unit="cent", item="a", hold=5):
        pytest.fail("the block runs")
    for error in (denied.value, asyncio.run(main())):
        assert (error.limit, error.item, error.allowed_at) == ("cap", "a", allowed_at(server))


@pytest.mark.parametrize("with_another", [False, True], ids=["alone", "beside_one_that_is_granted"])
def test_a_session_that_is_not_extended(server: Server, store: Store, with_another: bool) -> None:
    store.create("alice", buckets=[NewBucket("main", "cent", 1000), NewBucket("bytes", "octet", 1000)])
    store.limit("alice", "l1", "cap", unit="cent", amount=10, rate="1h")
    store.debit("alice", "d1", "cent", 4)
    holds = [Hold("a", "cent", 2), Hold("b", "octet", 2)]

    async def main() -> Denied:
        async with aio.Store.connect(server.url) as awaited, awaited.session("alice", holds=holds) as session:
            session.use(int(with_another), "b")
            with pytest.raises(Denied) as denied:
                await session.extend(5, "a", keep=True)
        return denied.value

    with store.session("alice", holds=holds) as session:
        session.use(int(with_another), "b")
        with pytest.raises(Denied) as denied:
            session.extend(5, "a", keep=True)
    for error in (denied.value, asyncio.run(main())):
        assert (error.limit, error.item) == ("cap", "a")
        assert isinstance(error.reply, Answer)
        assert error.reply.code == ("OK" if with_another else "CREDIT_LIMIT_REACHED")
        found = next(item for item in error.reply.items if item.key == "a")
        assert error.allowed_at is not None and error.allowed_at == found.allowed_at
