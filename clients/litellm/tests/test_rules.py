"""The rules of holds and charges, against a real Scurry in memory and without LiteLLM; redis-py is required.

    SCURRY_BIN=target/release/scurry python -m unittest discover -s tests -p 'test_rules.py'

SCURRY_BIN names the server.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "python"), str(HERE.parent / "python" / "tests")]

from scurry_client import NewBucket, Retry, Store, aio
from server import Server

import scurry_litellm._budgets
import scurry_litellm._line
from scurry_litellm import (
    Accounts,
    Away,
    Budgets,
    Call,
    Caller,
    Estimate,
    Full,
    Refusal,
    Settings,
    Unbudgeted,
    Unusable,
    WrongSettings,
    micro_cents,
)
from scurry_litellm._accounts import without_session
from scurry_litellm._billing import Told, charge
from scurry_litellm._request import Malformed, Reach, answers, output_bound, prompt_of, reach_of

CENT = Estimate(prompt=0.01)
HOLD = 1_000_000
SOON = 0.02
"""A time to live, in seconds, that a test waits for."""
SERVER = Server()


def setUpModule() -> None:
    SERVER.start()


def tearDownModule() -> None:
    SERVER.kill()


class Awaited:
    """Makes a blocking connection awaitable: no other task runs until the answer arrives."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    async def execute_command(self, *words: Any, **options: Any) -> Any:
        return self.connection.execute_command(*words, **options)


class Faulty:
    """A connection that can be down, or lose answers."""

    def __init__(self, connection: Awaited) -> None:
        self.connection = connection
        self.is_down = False
        self.lose = 0
        """Number of answers to lose after their command was executed."""
        self.names: list[str] = []

    async def execute_command(self, *words: Any, **options: Any) -> Any:
        if self.is_down:
            raise ConnectionRefusedError("nobody listens") from None
        reply = await self.connection.execute_command(*words, **options)
        self.names.append(str(words[0]))
        if self.lose:
            self.lose -= 1
            raise TimeoutError("the answer was lost")
        return reply


class WithBudgets(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        SERVER.empty()
        self.store = Store.connect(SERVER.url)
        self.addCleanup(self.store.close)
        self.line = Faulty(Awaited(self.store.connection))
        self.now = 0.0
        """Time of the plugin's clock; the server uses its own."""
        self.budgets = self.made(accounts=["$key_alias"])
        # A repeated settlement does not pause in a test.
        self.addCleanup(setattr, scurry_litellm._budgets, "PAUSE", scurry_litellm._budgets.PAUSE)
        scurry_litellm._budgets.PAUSE = 0.0

    def made(self, **settings: Any) -> Budgets:
        store = aio.Store(self.line, retry=Retry(patience=0.0))
        return Budgets(store, Settings.of(settings), lambda: self.now)

    def account(self, id: str, amount: int = 10 * HOLD) -> None:
        self.store.create(id, buckets=[NewBucket("main", "ucent", amount)])

    def balance(self, id: str) -> tuple[int, int]:
        """Returns the available and the held amount."""
        bucket = self.store.get(id).buckets[0]
        return bucket.available, bucket.held

    async def turns(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def until(self, is_so: Callable[[], bool]) -> None:
        for _ in range(1_000_000):
            if is_so():
                return
            await asyncio.sleep(0)
        self.fail("it does not come to it")


class Calls(WithBudgets):
    async def test_a_call_is_held_charged_and_the_rest_goes_back(self) -> None:
        self.account("alice")
        call = await self.budgets.open(["alice"], "gpt-x", CENT)
        self.assertEqual(self.balance("alice"), (9 * HOLD, HOLD))
        await self.budgets.settled(call, 300)
        self.assertEqual(self.balance("alice"), (10 * HOLD - 300, 0))
        self.assertEqual((self.budgets.calls, self.budgets.tasks, self.budgets.lost), ({}, set(), 0))

    async def test_who_settles_second_finds_nothing_to_do(self) -> None:
        self.account("alice")
        call = await self.budgets.open(["alice"], "gpt-x", CENT)
        await self.budgets.settled(call, 300)
        self.assertIsNone(self.budgets.settle(call, 300))
        await self.budgets.drain()
        self.assertEqual(self.balance("alice"), (10 * HOLD - 300, 0))

    async def test_a_failed_call_costs_nothing(self) -> None:
        self.account("alice")
        call = await self.budgets.open(["alice"], "gpt-x", CENT)
        await self.budgets.settled(call, 0)
        self.assertEqual(self.balance("alice"), (10 * HOLD, 0))

    async def test_calls_at_once_hold_no_more_than_there_is(self) -> None:
        self.account("alice", 3 * HOLD + 7)
        tries = [self.budgets.open(["alice"], "gpt-x", CENT) for _ in range(10)]
        done = await asyncio.gather(*tries, return_exceptions=True)
        refusals = [one for one in done if isinstance(one, Refusal)]
        self.assertEqual(len(refusals), 7)
        self.assertEqual(
            {(one.account, one.reason, one.needed, one.left) for one in refusals}, {("alice", "balance", HOLD, 7)}
        )
        self.assertEqual(self.balance("alice"), (7, 3 * HOLD))

    async def test_a_limit_refuses_by_its_name(self) -> None:
        self.account("alice")
        self.store.limit("alice", "l1", "day", unit="ucent", amount=HOLD - 1)
        with self.assertRaises(Refusal) as refusal:
            await self.budgets.open(["alice"], "gpt-x", CENT)
        self.assertEqual((refusal.exception.reason, refusal.exception.left), ("limit day", HOLD - 1))

    async def test_an_account_that_nobody_made_refuses(self) -> None:
        with self.assertRaisesRegex(Unusable, "^budget nobody: there is no such account$"):
            await self.budgets.open(["nobody"], "gpt-x", CENT)

    async def test_an_account_that_may_not_pay_is_not_one_that_has_too_little(self) -> None:
        self.account("alice")
        self.store.status("alice", "suspended")
        with self.assertRaisesRegex(Unusable, "^budget alice: the account is suspended or closed$"):
            await self.budgets.open(["alice"], "gpt-x", CENT)
        self.store.create("euros", buckets=[NewBucket("main", "EUR", 10 * HOLD)])
        with self.assertRaisesRegex(Unusable, "^budget euros: the account has no bucket of the unit ucent$"):
            await self.budgets.open(["euros"], "gpt-x", CENT)

    async def test_the_same_label_is_another_call(self) -> None:
        self.account("alice")
        first = await self.budgets.open(["alice"], "gpt-x", CENT, label="chosen by the caller")
        second = await self.budgets.open(["alice"], "gpt-x", CENT, label="chosen by the caller")
        self.assertNotEqual(first.id, second.id)
        await self.budgets.settled(first, 300)
        await self.budgets.settled(second, 300)
        self.assertEqual(self.balance("alice"), (10 * HOLD - 600, 0))

    async def test_a_call_that_costs_more_than_was_held_is_charged_whole(self) -> None:
        self.account("alice", HOLD)
        call = await self.budgets.open(["alice"], "gpt-x", CENT)
        await self.budgets.settled(call, HOLD + 5)
        self.assertEqual(self.balance("alice"), (-5, 0))

    async def test_what_is_free_holds_nothing(self) -> None:
        call = await self.budgets.open(["nobody"], "gpt-x", Estimate(0.0))
        await self.budgets.settled(call, 0)
        self.assertEqual(self.line.names, [])

    async def test_no_more_calls_than_there_may_be(self) -> None:
        self.account("alice")
        budgets = self.made(accounts=["$key_alias"], calls_max=1)
        call = await budgets.open(["alice"], "gpt-x", CENT)
        with self.assertRaises(Full):
            await budgets.open(["alice"], "gpt-x", CENT)
        await budgets.settled(call, 0)
        tries = [budgets.open(["alice"], "gpt-x", CENT) for _ in range(3)]
        done = await asyncio.gather(*tries, return_exceptions=True)
        self.assertEqual([isinstance(one, Full) for one in done], [False, True, True])


class Chains(WithBudgets):
    accounts = ("{acme}:key:alice", "{acme}:team:red", "{acme}")

    async def test_all_accounts_pay(self) -> None:
        for id in self.accounts:
            self.account(id)
        call = await self.budgets.open(self.accounts, "gpt-x", CENT)
        self.assertEqual([self.balance(id) for id in self.accounts], [(9 * HOLD, HOLD)] * 3)
        await self.budgets.settled(call, 300)
        self.assertEqual([self.balance(id) for id in self.accounts], [(10 * HOLD - 300, 0)] * 3)

    async def test_one_that_has_not_enough_refuses_for_all_and_is_named(self) -> None:
        for id, amount in zip(self.accounts, (10 * HOLD, 5, 10 * HOLD), strict=True):
            self.account(id, amount)
        with self.assertRaises(Refusal) as refusal:
            await self.budgets.open(self.accounts, "gpt-x", CENT)
        self.assertEqual((refusal.exception.account, refusal.exception.left), ("{acme}:team:red", 5))
        self.assertEqual([self.balance(id)[1] for id in self.accounts], [0, 0, 0])

    async def test_the_one_that_nobody_made_is_named(self) -> None:
        for id in (self.accounts[0], self.accounts[2]):
            self.account(id)
        with self.assertRaises(Unusable) as unusable:
            await self.budgets.open(self.accounts, "gpt-x", CENT)
        self.assertEqual(unusable.exception.account, "{acme}:team:red")

    async def test_one_that_is_gone_does_not_keep_the_others_from_paying(self) -> None:
        for id in self.accounts:
            self.account(id)
        call = await self.budgets.open(self.accounts, "gpt-x", CENT)
        self.store.release("{acme}:team:red", call.id)
        self.store.adjust("{acme}:team:red", "a1", "main", -10 * HOLD)
        self.store.status("{acme}:team:red", "closed")
        self.store.delete("{acme}:team:red", force=True)
        with self.assertLogs("scurry_litellm", "ERROR"):
            await self.budgets.settled(call, 300)
        self.assertEqual([self.balance(id) for id in self.accounts[::2]], [(10 * HOLD - 300, 0)] * 2)
        self.assertEqual(self.budgets.lost, 300)

    async def test_the_time_that_ran_out_is_charged_late_in_all(self) -> None:
        for id in self.accounts:
            self.account(id)
        budgets = self.made(accounts=["$key_alias"], ttl=SOON)
        call = await budgets.open(self.accounts, "gpt-x", CENT)
        await self.until(lambda: [self.balance(id) for id in self.accounts] == [(10 * HOLD, 0)] * 3)
        await budgets.settled(call, 300)
        self.assertEqual([self.balance(id) for id in self.accounts], [(10 * HOLD - 300, 0)] * 3)


class ChargedFirst(WithBudgets):
    """`when_killed: charged`."""

    def setUp(self) -> None:
        super().setUp()
        self.budgets = self.made(accounts=["$key_alias"], when_killed="charged")

    async def test_what_a_call_may_cost_is_debited_and_the_rest_comes_back(self) -> None:
        self.account("alice")
        call = await self.budgets.open(["alice"], "gpt-x", CENT)
        self.assertEqual(self.balance("alice"), (9 * HOLD, 0))
        await self.budgets.settled(call, 300)
        self.assertEqual(self.balance("alice"), (10 * HOLD - 300, 0))

    async def test_a_proxy_that_died_leaves_its_calls_charged(self) -> None:
        self.account("alice")
        await self.budgets.open(["alice"], "gpt-x", CENT)
        await self.budgets.renew()
        self.assertEqual(self.line.names, ["SCUR.DEBIT"])
        self.assertEqual((self.balance("alice"), self.store.get("alice").sessions), ((9 * HOLD, 0), ()))

    async def test_a_call_costs_all_none_or_more_of_it(self) -> None:
        for cost in (HOLD, 0, HOLD + 5):
            with self.subTest(cost):
                self.account(f"alice-{cost}")
                call = await self.budgets.open([f"alice-{cost}"], "gpt-x", CENT)
                await self.budgets.settled(call, cost)
                self.assertEqual(self.balance(f"alice-{cost}"), (10 * HOLD - cost, 0))

    async def test_all_accounts_of_a_chain_pay_and_one_refuses_for_all(self) -> None:
        for id, amount in (("{acme}:a", 2 * HOLD), ("{acme}", HOLD + 5)):
            self.account(id, amount)
        call = await self.budgets.open(["{acme}:a", "{acme}"], "gpt-x", CENT)
        with self.assertRaises(Refusal) as refusal:
            await self.budgets.open(["{acme}:a", "{acme}"], "gpt-x", CENT)
        self.assertEqual((refusal.exception.account, refusal.exception.left), ("{acme}", 5))
        await self.budgets.settled(call, 300)
        self.assertEqual([self.balance(id)[0] for id in ("{acme}:a", "{acme}")], [2 * HOLD - 300, HOLD + 5 - 300])

    async def test_a_limit_of_one_account_of_a_chain_refuses_by_its_name(self) -> None:
        for id in ("{acme}:a", "{acme}"):
            self.account(id)
        self.store.limit("{acme}", "l1", "hourly", unit="ucent", amount=HOLD, rate="1h")
        await self.budgets.open(["{acme}:a", "{acme}"], "gpt-x", CENT)
        with self.assertRaises(Refusal) as refusal:
            await self.budgets.open(["{acme}:a", "{acme}"], "gpt-x", CENT)
        self.assertEqual((refusal.exception.account, refusal.exception.reason), ("{acme}", "limit hourly"))
        self.assertEqual(self.balance("{acme}:a"), (9 * HOLD, 0))

    async def test_answers_that_are_lost_give_the_rest_back_once(self) -> None:
        self.account("alice")
        call = await self.budgets.open(["alice"], "gpt-x", CENT)
        self.line.lose = 3
        # The rest would fit into the debit several times.
        await self.budgets.settled(call, HOLD - 300)
        await self.budgets.drain()
        self.assertEqual(self.balance("alice"), (9 * HOLD + 300, 0))

    async def test_a_call_that_went_on_without_is_charged_later_whether_or_not_it_was_debited(self) -> None:
        budgets = self.made(accounts=["$key_alias"], when_killed="charged", fail_open=True)
        for is_debited in (False, True):
            with self.subTest(is_debited), self.assertLogs("scurry_litellm", "WARNING"):
                id = f"alice-{is_debited}"
                self.account(id)
                self.line.is_down, self.line.lose = not is_debited, int(is_debited)
                call = await budgets.open([id], "gpt-x", CENT)
                self.assertEqual(self.balance(id), ((9 if is_debited else 10) * HOLD, 0))
                self.line.is_down = False
                await budgets.settled(call, 300)
                self.assertEqual(self.balance(id), (10 * HOLD - 300, 0))

    async def test_a_call_that_is_cancelled_while_it_is_debited_gets_it_back(self) -> None:
        self.account("alice")
        going = asyncio.ensure_future(self.budgets.open(["alice"], "gpt-x", CENT))
        self.line.connection = Slow(self.line.connection)  # type: ignore[assignment]
        await self.until(lambda: self.balance("alice") == (9 * HOLD, 0))
        going.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await going
        await self.budgets.drain()
        self.assertEqual(self.balance("alice"), (10 * HOLD, 0))


class Time(WithBudgets):
    async def test_a_proxy_that_died_holds_nothing_for_longer_than_the_ttl(self) -> None:
        self.account("alice")
        call = await self.budgets.open(["alice"], "gpt-x", CENT)
        self.assertEqual(self.balance("alice"), (9 * HOLD, HOLD))
        self.assertEqual(self.store.get_session("alice", call.id).session.tcc, 60_000)
        self.store.release("alice", call.id)
        await self.made(accounts=["$key_alias"], ttl=SOON).open(["alice"], "gpt-x", CENT)
        await self.until(lambda: self.balance("alice") == (10 * HOLD, 0))

    async def test_a_long_call_renews_its_hold(self) -> None:
        self.account("alice")
        call = await self.budgets.open(["alice"], "gpt-x", CENT)
        first = self.deadline("alice", call)
        for _ in range(20):
            self.now += 20
            await self.budgets.renew()
        self.assertEqual(self.line.names.count("SCUR.UPDATE"), 20)
        self.assertGreater(self.deadline("alice", call), first)
        self.assertEqual(self.balance("alice"), (9 * HOLD, HOLD))
        await self.budgets.settled(call, 300)
        self.assertEqual(self.balance("alice"), (10 * HOLD - 300, 0))

    async def test_a_call_of_which_nothing_is_heard_is_given_up(self) -> None:
        self.account("alice")
        budgets = self.made(accounts=["$key_alias"], ttl=SOON)
        await budgets.open(["alice"], "gpt-x", CENT)
        self.now += 7201
        with self.assertLogs("scurry_litellm", "ERROR"):
            await budgets.renew()
        self.assertEqual((budgets.calls, self.line.names), ({}, ["SCUR.RESERVE"]))
        await self.until(lambda: self.balance("alice") == (10 * HOLD, 0))

    async def test_a_call_whose_cost_nobody_tells_is_charged_in_the_end(self) -> None:
        self.account("alice")
        call = await self.budgets.open(["alice"], "gpt-x", CENT)
        self.budgets.charge_later(call, 700)
        self.now += 30
        await self.budgets.renew()
        self.assertEqual(self.balance("alice"), (9 * HOLD, HOLD))
        self.now += 30
        with self.assertLogs("scurry_litellm", "WARNING"):
            await self.budgets.renew()
        await self.budgets.drain()
        self.assertEqual(self.balance("alice"), (10 * HOLD - 700, 0))

    def deadline(self, id: str, call: Call) -> int:
        return self.store.get_session(id, call.id).session.deadline


class Outages(WithBudgets):
    async def test_no_call_goes_on_without_scurry(self) -> None:
        self.account("alice")
        self.line.is_down = True
        with self.assertRaises(Away):
            await self.budgets.open(["alice"], "gpt-x", CENT)
        self.assertEqual(self.budgets.calls, {})

    async def test_where_they_may_they_are_charged_later(self) -> None:
        self.account("alice")
        budgets = self.made(accounts=["$key_alias"], fail_open=True)
        self.line.is_down = True
        with self.assertLogs("scurry_litellm", "WARNING"):
            call = await budgets.open(["alice"], "gpt-x", CENT)
        task = budgets.settle(call, 300)
        await self.turns()
        self.assertEqual(self.balance("alice"), (10 * HOLD, 0))
        self.line.is_down = False
        assert task is not None
        await task
        self.assertEqual(self.balance("alice"), (10 * HOLD - 300, 0))

    async def test_an_answer_that_is_lost_charges_once(self) -> None:
        self.account("alice")
        call = await self.budgets.open(["alice"], "gpt-x", CENT)
        self.line.lose = 3
        await self.budgets.settled(call, 300)
        await self.budgets.drain()
        self.assertEqual(self.balance("alice"), (10 * HOLD - 300, 0))
        self.assertEqual(self.line.names.count("SCUR.TERMINATE"), 4)

    async def test_a_late_charge_whose_answer_is_lost_charges_once(self) -> None:
        self.account("alice")
        budgets = self.made(accounts=["$key_alias"], ttl=SOON)
        call = await budgets.open(["alice"], "gpt-x", CENT)
        await self.until(lambda: self.balance("alice") == (10 * HOLD, 0))
        self.line.lose = 2
        await budgets.settled(call, 300)
        await budgets.drain()
        self.assertEqual(self.balance("alice"), (10 * HOLD - 300, 0))

    async def test_a_charge_of_which_nothing_is_known_is_given_up_before_it_could_be_one_more(self) -> None:
        self.account("alice")
        call = await self.budgets.open(["alice"], "gpt-x", CENT)
        self.line.lose = 1
        task = self.budgets.settle(call, 300)
        await self.until(lambda: self.line.lose == 0)
        self.line.is_down = True
        await self.turns()
        self.now += 201
        assert task is not None
        with self.assertLogs("scurry_litellm", "ERROR"):
            await task
        self.assertEqual(self.budgets.lost, 300)
        self.assertEqual(self.balance("alice"), (10 * HOLD - 300, 0))

    async def test_a_call_that_is_cancelled_while_it_is_held_gives_its_hold_back(self) -> None:
        self.account("alice")
        going = asyncio.ensure_future(self.budgets.open(["alice"], "gpt-x", CENT))
        self.line.lose = 1
        self.line.connection = Slow(self.line.connection)  # type: ignore[assignment]
        await self.until(lambda: self.balance("alice") == (9 * HOLD, HOLD))
        going.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await going
        await self.budgets.drain()
        self.assertEqual(self.balance("alice"), (10 * HOLD, 0))


class Slow:
    """Answers one iteration of the event loop after the execution."""

    def __init__(self, connection: Awaited) -> None:
        self.connection = connection

    async def execute_command(self, *words: Any, **options: Any) -> Any:
        reply = await self.connection.execute_command(*words, **options)
        await asyncio.sleep(0)
        return reply


class Pipeline:
    """redis-py's pipeline, with a connection that a test watches."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.words: list[Any] = []

    async def __aenter__(self) -> Pipeline:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def execute_command(self, *words: Any, **_: Any) -> None:
        self.words.append(words)

    async def execute(self, raise_on_error: bool) -> list[Any]:
        self.client.batches.append(self.words)
        await self.client.may_answer.wait()
        if self.client.is_broken:
            raise ConnectionError("broken")
        return [ValueError(words[1]) if words[0] == "FAIL" else f"{words[0]} done" for words in self.words]


class Client:
    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.may_answer = asyncio.Event()
        self.is_broken = False

    def pipeline(self, transaction: bool) -> Pipeline:
        return Pipeline(self)


class Lines(unittest.IsolatedAsyncioTestCase):
    async def test_what_waits_goes_out_together_and_each_has_its_own_answer(self) -> None:
        client = Client()
        line = scurry_litellm._line.Line(client, 1)
        first = asyncio.ensure_future(line.execute_command("A"))
        await self.sent(client, 1)
        others = [asyncio.ensure_future(line.execute_command(*words)) for words in (("B",), ("FAIL", "why"), ("C",))]
        gone = asyncio.ensure_future(line.execute_command("GONE"))
        await asyncio.sleep(0)
        gone.cancel()
        client.may_answer.set()
        done = await asyncio.gather(first, *others, return_exceptions=True)
        self.assertEqual([str(one) for one in done], ["A done", "B done", "why", "C done"])
        self.assertIsInstance(done[2], ValueError)
        self.assertEqual(client.batches, [[("A",)], [("B",), ("FAIL", "why"), ("C",)]])

    async def test_a_connection_that_breaks_fails_all_that_it_carried_and_no_more(self) -> None:
        client = Client()
        line = scurry_litellm._line.Line(client, 1)
        going = [asyncio.ensure_future(line.execute_command(name)) for name in "AB"]
        await self.sent(client, 1)
        client.is_broken = True
        client.may_answer.set()
        done = await asyncio.gather(*going, return_exceptions=True)
        self.assertEqual([type(one) for one in done], [ConnectionError, ConnectionError])
        client.is_broken = False
        self.assertEqual(await line.execute_command("C"), "C done")

    async def test_no_more_batches_are_under_way_than_there_are_connections(self) -> None:
        client = Client()
        line = scurry_litellm._line.Line(client, 2)
        going = []
        for name in "ABCDE":
            going.append(asyncio.ensure_future(line.execute_command(name)))
            for _ in range(5):
                await asyncio.sleep(0)
        self.assertEqual(client.batches, [[("A",)], [("B",)]])
        client.may_answer.set()
        await asyncio.gather(*going)
        self.assertEqual(client.batches[2], [("C",), ("D",), ("E",)])

    async def sent(self, client: Client, batches: int) -> None:
        for _ in range(10_000):
            if len(client.batches) == batches:
                return
            await asyncio.sleep(0)
        self.fail("nothing was sent")


class Requests(unittest.TestCase):
    """The variants of a request by its fallbacks and its extra_body, and which of its tokens cost money."""

    def reach(self, *configured: Any, aliases: dict[str, Any] | None = None, **body: Any) -> Reach:
        return reach_of({"model": "cheap"} | body, configured, aliases or {})

    def bounds(self, *configured: Any, **body: Any) -> list[int | None]:
        own = ("max_completion_tokens", "max_tokens")
        return [output_bound(one, own, 500, 0) for one in self.reach(*configured, **body).bodies]

    def test_a_call_may_come_to_whatever_its_fallbacks_lead_to(self) -> None:
        chains = [{"cheap": ["mid"]}, {"mid": ["dear", {"model": "dearer"}]}, {"else": ["other"]}, {"*": ["any"]}]
        self.assertEqual(self.reach(chains).models, ["cheap", "mid", "dear", "dearer", "any"])
        self.assertEqual(self.reach([{"*": ["dear"]}]).models, ["cheap", "dear"])
        self.assertEqual(self.reach([], None, [{"cheap": ["dear"]}]).models, ["cheap", "dear"])
        self.assertEqual(self.reach([{"x": ["dear"]}], model="openai/x").models, ["openai/x", "dear"])
        self.assertEqual(self.reach([{"dear": ["cheap"]}], aliases={"cheap": "dear"}).models, ["cheap", "dear"])

    def test_a_call_may_come_to_what_its_caller_names(self) -> None:
        for body in (
            {"fallbacks": ["dear"]},
            {"fallbacks": [{"model": "dear", "max_tokens": 8}]},
            {"fallbacks": [{"cheap": ["dear"]}]},
            {"fallbacks": [{"model": "cheap", "fallbacks": ["dear"]}]},
            {"context_window_fallbacks": [{"cheap": ["dear"]}]},
            {"content_policy_fallbacks": [{"cheap": ["dear"]}]},
            {"default_fallbacks": ["dear"]},
            {"context_window_fallback_dict": {"cheap": "dear"}},
            {"router_settings_override": {"fallbacks": [{"cheap": ["dear"]}]}},
        ):
            with self.subTest(body):
                self.assertEqual(self.reach(**body).models, ["cheap", "dear"])

    def test_what_a_fallback_changes_is_counted_for_it_and_those_after_it(self) -> None:
        changed = [{"model": "mid", "max_tokens": 8000}, {"n": 4}, "dear"]
        self.assertEqual(self.bounds(fallbacks=changed), [500, 8000, 8000])
        self.assertEqual([answers(one) for one in self.reach(fallbacks=changed).bodies], [1, 1, 4])
        self.assertEqual(self.bounds([{"cheap": [{"model": "mid", "max_tokens": 8000}]}]), [500, 8000])
        self.assertEqual(self.bounds([{"else": [{"model": "mid", "max_tokens": 8000}]}]), [500])

    def test_extra_body_counts_as_the_body(self) -> None:
        for extra, bound, count in (
            ({"max_completion_tokens": 16_000}, 16_000, 1),
            ({"max_tokens": 16_000, "n": 8}, 16_000, 8),
            ({"max_tokens": 1}, 9, 1),
            ({"generationConfig": {"maxOutputTokens": 7000, "candidateCount": 3}}, 7000, 3),
            ({"options": {"num_predict": 7000}}, 7000, 1),
            ({"thinking": {"type": "enabled", "budget_tokens": 1000}}, 1009, 1),
        ):
            with self.subTest(extra):
                body = self.reach(max_tokens=9, extra_body=extra).bodies[0]
                self.assertEqual((output_bound(body, ("max_tokens",), None, 0), answers(body)), (bound, count))
        tools = [{"type": "function", "function": {"name": "f", "description": "word " * 50}}]
        self.assertEqual(prompt_of(self.reach(extra_body={"tools": tools}).bodies[0]).tools, tools)

    def test_the_names_of_a_schema_are_no_counts(self) -> None:
        properties = {"n": {"type": "integer"}, "max_tokens": {"type": "integer"}}
        for extra in ({"guided_json": {"properties": properties, "n": 900}}, {"of_tomorrow": properties}):
            with self.subTest(extra):
                body = self.reach(max_tokens=9, extra_body=extra).bodies[0]
                self.assertEqual((output_bound(body, ("max_tokens",), None, 0), answers(body)), (9, 1))
                self.assertIn("integer", prompt_of(body).text)

    def test_a_bound_that_the_endpoint_does_not_know_bounds_nothing(self) -> None:
        self.assertEqual(self.bounds(max_output_tokens=9), [500])
        self.assertEqual(self.bounds(max_output_tokens=16_000, max_tokens=9), [16_000])
        self.assertIsNone(output_bound({"max_output_tokens": 9}, ("max_tokens",), None, 0))

    def test_what_cannot_be_counted_is_refused(self) -> None:
        wrong: list[dict[str, Any]] = [
            {"model": None},
            {"model": ""},
            {"max_tokens": 0},
            {"max_tokens": "500"},
            {"max_tokens": True},
            {"max_tokens": 2.5},
            {"max_tokens": 10**400},
            {"n": -3},
            {"n": "5"},
            {"n": 10**400},
            {"best_of": 0},
            {"n": [8]},
            {"max_tokens": {"most": 8}},
            {"extra_body": {"max_tokens": [8]}},
            {"extra_body": "max_tokens"},
            {"extra_body": {"model": "dear"}},
            {"extra_body": {"fallbacks": ["dear"]}},
            {"extra_body": {"max_tokens": None}},
            {"fallbacks": "dear"},
            {"fallbacks": [{"model": "dear", "max_tokens": None}]},
            {"fallbacks": [f"model-{number}" for number in range(40)]},
            {"fallbacks": [{"model": "dear", "seed": number} for number in range(40)]},
        ]
        for body in wrong:
            with self.subTest(str(body)[:60]), self.assertRaises(Malformed):
                for one in self.reach(**body).bodies:
                    output_bound(one, ("max_tokens",), 500, 0)
                    answers(one)
        # A missing limit is none of these.
        self.assertEqual(self.bounds(max_tokens=None, n=None), [500])


class Answers(unittest.TestCase):
    """The charge for an answer: CALL's prompt costs 1,000 micro-cents, a word 10, and 6,000 are held."""

    CALL = Call("c", ("alice",), "gpt-x", Estimate(0.00001, 0.0000001, 500), 6000, 0.0, 0.0)
    SAID: ClassVar[dict[str, Any]] = {"choices": [{"message": {"role": "assistant", "content": "a b c"}}]}

    def charged(self, cost: float | None, usage: Any = None, answer: Any = None, is_cached: bool = False) -> int:
        return charge(self.CALL, Told(cost, usage, answer, is_cached), lambda text: len(text.split()))

    def test_a_cost_with_a_usage_is_charged(self) -> None:
        for usage in (
            {"prompt_tokens": 8, "completion_tokens": 3},
            {"input_tokens": 8, "output_tokens": 3},
            {"input_tokens": 0, "cache_read_input_tokens": 8, "output_tokens": 3},
        ):
            with self.subTest(usage), self.assertNoLogs("scurry_litellm"):
                self.assertEqual(self.charged(0.00000007, usage, self.SAID), 7)
                self.assertEqual(self.charged(0.0, usage, self.SAID), 0)
                self.assertEqual(self.charged(0.5, usage, self.SAID), 50_000_000)
        # A picture has a price, and no tokens.
        self.assertEqual(self.charged(0.04, None, {"data": [{"url": "https://example.invalid"}]}), 4_000_000)
        # An embedding has no output.
        self.assertEqual(self.charged(0.00000007, {"prompt_tokens": 8, "completion_tokens": 0}, {"data": []}), 7)

    def test_an_answer_without_usage_is_counted(self) -> None:
        zero = {"prompt_tokens": 0, "completion_tokens": 0}
        for usage in (None, {}, zero, {"prompt_tokens": -9, "completion_tokens": 3}, {"prompt_tokens": 8}):
            for cost in (0.0, None, -0.0125, float("nan"), float("inf")):
                with self.subTest((usage, cost)), self.assertLogs("scurry_litellm", "WARNING"):
                    self.assertEqual(self.charged(cost, usage, self.SAID), 1030)
        with self.assertLogs("scurry_litellm", "WARNING"):
            self.assertEqual(self.charged(-1.0, {"prompt_tokens": 8, "completion_tokens": 3}, self.SAID), 1030)
        # If the reported cost exceeds that of the visible text, it is charged.
        with self.assertLogs("scurry_litellm", "WARNING"):
            self.assertEqual(self.charged(0.00002, {"prompt_tokens": 8}, self.SAID), 2000)

    def test_all_that_an_answer_says_is_counted(self) -> None:
        call = {"function": {"name": "f", "arguments": "d e"}}
        answers: list[dict[str, Any]] = [
            {"choices": [{"message": {"content": "a b", "reasoning_content": " c ", "tool_calls": [call]}}]},
            {"choices": [{"text": "a b c d e"}]},
            {"output": [{"content": [{"type": "output_text", "text": "a b c "}]}, {"arguments": "d e"}]},
            {"content": [{"type": "text", "text": "a b c d e"}]},
        ]
        for answer in answers:
            with self.subTest(answer), self.assertLogs("scurry_litellm", "WARNING"):
                self.assertEqual(self.charged(0.0, None, answer), 1050)

    def test_what_cannot_be_counted_costs_what_was_held(self) -> None:
        silent: list[Any] = [None, {"data": []}, {"choices": []}]
        for answer in silent:
            with self.subTest(answer), self.assertLogs("scurry_litellm", "WARNING"):
                self.assertEqual(self.charged(0.0, None, answer), 6000)

    def test_an_answer_from_the_cache_costs_nothing(self) -> None:
        usage = {"prompt_tokens": 8, "completion_tokens": 3}
        with self.assertNoLogs("scurry_litellm"):
            self.assertEqual(self.charged(0.5, usage, self.SAID, is_cached=True), 0)

    def test_a_model_that_is_free_stays_so(self) -> None:
        free = Call("c", ("alice",), "own", Estimate(0.0), 0, 0.0, 0.0)
        with self.assertNoLogs("scurry_litellm"):
            self.assertEqual(charge(free, Told(0.0, None, self.SAID), len), 0)


class Names(unittest.TestCase):
    def test_patterns_are_filled_with_who_calls(self) -> None:
        accounts = Accounts(["{$org_id}:key:$key_alias", "{$org_id}:team:$team_id", "{$org_id}"])
        alice = Caller(key_alias="alice", team_id="red", org_id="acme")
        self.assertEqual(accounts.of(alice), ["{acme}:key:alice", "{acme}:team:red", "{acme}"])
        self.assertEqual(accounts.of(Caller(org_id="acme")), ["{acme}"])
        with self.assertRaises(Unbudgeted):
            accounts.of(Caller(key_alias="alice"))

    def test_a_name_cannot_become_anothers_account(self) -> None:
        accounts = Accounts(["{$org_id}:key:$key_alias"])
        self.assertEqual(
            accounts.of(Caller(org_id="a}:key:b{", key_alias="c d:e")), ["{a%7D%3Akey%3Ab%7B}:key:c%20d%3Ae"]
        )
        with self.assertRaises(Unbudgeted):
            accounts.of(Caller(org_id="o" * 64, key_alias="k" * 64))

    def test_what_is_too_long_goes_in_as_a_hash(self) -> None:
        accounts = Accounts(["{$org_id}:end:$end_user_id", "{$org_id}"])
        name = "n" * 65
        hashed = f"sha256:{hashlib.sha256(name.encode()).hexdigest()[:32]}"
        self.assertEqual(accounts.of(Caller(org_id="acme", end_user_id=name)), [f"{{acme}}:end:{hashed}", "{acme}"])
        # The tag is the same in all of them, and does not depend on the length of other values.
        self.assertEqual(accounts.of(Caller(org_id=name)), [f"{{{hashed}}}"])
        self.assertEqual(accounts.of(Caller(org_id=name, end_user_id=name))[1], f"{{{hashed}}}")
        # A value that looks like a hash is not taken for one.
        self.assertNotIn(hashed, Accounts(["$user_id"]).of(Caller(user_id=hashed)))
        self.assertEqual(Accounts(["$key"]).of(Caller(key="0" * 64)), ["0" * 64])
        # The length counts after encoding.
        self.assertTrue(Accounts(["$user_id"]).of(Caller(user_id="é" * 22))[0].startswith("sha256:"))

    def test_an_end_user_of_claude_code_is_one_in_all_of_its_sessions(self) -> None:
        accounts = Accounts(["$end_user_id"])
        session = "0d5bd2cb-4f0c-4c5e-9a6a-9f1f0f6d3c11"
        user = f"user_{'ab12' * 16}_account_{session}"
        alone = accounts.of(Caller(end_user_id=user))
        self.assertEqual(accounts.of(Caller(end_user_id=f"{user}_session_{session}")), alone)
        self.assertEqual(accounts.of(Caller(end_user_id=f"{user}_session_1d5bd2cb")), alone)
        fields = {"device_id": "d" * 64, "account_uuid": session}
        one = accounts.of(Caller(end_user_id=json.dumps(fields | {"session_id": "s-1"})))
        self.assertEqual(one, accounts.of(Caller(end_user_id=json.dumps({"session_id": "s-2"} | fields))))
        self.assertEqual(len(one[0]), len("sha256:") + 32)
        self.assertNotEqual(one, accounts.of(Caller(end_user_id=json.dumps(fields | {"device_id": "e" * 64}))))
        # A value that only resembles the form stays unchanged.
        for other in ("{not json", '["session_id"]', '{"a":1}', "user_1_account_2_session_3"):
            self.assertEqual(without_session(other), other)

    def test_patterns_that_could_not_work_are_refused(self) -> None:
        for patterns in (
            [],
            ["$nobody"],
            ["$"],
            ["{$org_id}", "$key_alias"],
            ["{$org_id}", "{$team_id}"],
            ["{a}"] * 17,
        ):
            with self.subTest(patterns), self.assertRaises(ValueError):
                Accounts(patterns)

    def test_settings_say_what_is_wrong_with_them(self) -> None:
        wrong: list[tuple[dict[str, Any], str]] = [
            ({}, "accounts"),
            ({"accounts": "$key"}, "list"),
            ({"accounts": ["$key"], "tll": 3}, "no such setting: tll"),
            ({"accounts": ["$key"], "ttl": "3"}, "ttl"),
            ({"accounts": ["$key"], "ttl": 0}, "ttl"),
            ({"accounts": ["$key"], "fail_open": 1}, "fail_open"),
            ({"accounts": ["$key"], "overrun": "no"}, "overdraw, clamp"),
            ({"accounts": ["$key"], "denied_status": 200}, "denied_status"),
            ({"accounts": ["$key"], "url": "os.environ/NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE"),
        ]
        for given, why in wrong:
            with self.subTest(given), self.assertRaisesRegex(WrongSettings, why):
                Settings.of(given)
        right = Settings.of({"accounts": ["$key"], "ttl": 3, "default_estimate": 0.5, "default_max_tokens": None})
        self.assertEqual((right.ttl, right.default_estimate, right.fail_open), (3.0, 0.5, False))

    def test_money_is_whole_and_never_less_than_the_price(self) -> None:
        self.assertEqual(micro_cents(0.01), HOLD)
        self.assertEqual(micro_cents(0.1 + 0.2), 30_000_000)
        self.assertEqual(micro_cents(0.0000000101), 2)
        self.assertEqual(micro_cents(0.0), 0)
        self.assertEqual(Estimate(0.0001, 0.000002, 100).hold, 30_000)
        self.assertEqual(Estimate(0.0001, 0.000002, 100).after(50), 20_000)
        for wrong in (-1.0, float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                micro_cents(wrong)


if __name__ == "__main__":
    unittest.main()
