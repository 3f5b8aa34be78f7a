"""LiteLLM's real proxy with the plugin, a provider without a model, and a real Scurry."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from scurry_client import NewBucket, Store
from server import Server
from world import MASTER, OUTPUT, PLUGIN, Callers, Provider, Proxy, config_of, price, session, until

KEYS = [f"key{number}" for number in range(10)]
CALLS = 500
LIMITED = KEYS[3]
LIMIT = 150_000
"""The budget of LIMITED: about 14 of the 50 calls that it makes."""
PLENTY = 1_000_000_000
TTL = 30.0
"""A proxy that stalls for this long loses holds that it should have renewed."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(directory=tmp_path / "store") as running:
        yield running


@pytest.fixture
def store(server: Server) -> Iterator[Store]:
    with Store.connect(server.url) as connected:
        yield connected


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    with Provider(tmp_path, latency=0.5) as running:
        yield running


def proxy_of(directory: Path, server: Server, provider: Provider, **settings: Any) -> Proxy:
    scurry = {"url": server.url, "accounts": ["$key_alias"], "default_max_tokens": 50, "ttl": TTL}
    config = config_of(
        provider,
        litellm_settings={"callbacks": "scurry_litellm.plugin.budgets"},
        callback_settings={"scurry": scurry | settings},
        general_settings={"disable_budget_reservation": True},
        # LiteLLM retries a deployment that fails at once.
        router_settings={"disable_cooldowns": True},
    )
    return Proxy(directory, config)


@pytest.fixture
def proxy(tmp_path: Path, server: Server, provider: Provider) -> Iterator[Proxy]:
    with proxy_of(tmp_path, server, provider) as made:
        yield made


def books(store: Store, account: str) -> tuple[int, int, int]:
    """Returns credited, consumed and held."""
    totals = store.audit(account).buckets[0]
    return totals.credited, totals.consumed, totals.held


def audited(store: Store, accounts: list[str]) -> None:
    for account in accounts:
        found = store.audit(account)
        assert found.ok, found


async def burst(callers: Callers, open: aiohttp.ClientSession, calls: range, **more: Any) -> None:
    """Sends calls: of each key one in ten fails, one is a stream, and one is a stream that breaks off."""
    wishes = {3: "fail", 5: "", 7: "cut"}
    going = []
    for number in calls:
        key, kind = KEYS[number % len(KEYS)], number // len(KEYS) % 10
        body: dict[str, Any] = more | ({"stream": True} if kind in (5, 7) else {})
        going.append(callers.call(open, key, f"call={number} say={20 + number % 30} {wishes.get(kind, '')}", **body))
    await asyncio.gather(*going)


async def test_a_budget_is_a_ceiling_for_500_calls_at_once_and_a_killed_proxy(
    store: Store, provider: Provider, proxy: Proxy
) -> None:
    for key in KEYS:
        store.create(key, buckets=[NewBucket("main", "ucent", LIMIT if key == LIMITED else PLENTY)])
    await proxy.start()
    async with session() as open:
        before = Callers(proxy.url)
        going = asyncio.ensure_future(burst(before, open, range(CALLS)))
        # In the middle: some calls are answered, others are not.
        await until(lambda: before.count(200) >= 50, "50 calls are answered")
        proxy.kill()
        await going
    assert before.count(0) > 0, "it was killed after the last answer"
    for key in KEYS:
        credited, consumed, held = books(store, key)
        assert consumed + held <= credited
    await until(lambda: not any(books(store, key)[2] for key in KEYS), "no hold is left of the killed proxy")
    for key in KEYS:
        # Every complete answer is charged, whenever the proxy died. (A stream is charged after its end.)
        answered = [one for one in await of(provider, key) if one["call"] in before.answered and not one["is_stream"]]
        assert sum(map(price, answered)) <= books(store, key)[1]
    lost = {key: sum(map(price, await of(provider, key))) - books(store, key)[1] for key in KEYS}

    await proxy.start()
    async with session() as open:
        after = Callers(proxy.url)
        await burst(after, open, range(CALLS, 2 * CALLS))
    await until(lambda: not any(books(store, key)[2] for key in KEYS), "every call is settled")
    assert after.count(0) == 0
    assert after.count(429, LIMITED) > 0
    assert after.count(429) == after.count(429, LIMITED), after.statuses
    for key in KEYS:
        served = await of(provider, key)
        credited, consumed, _ = books(store, key)
        assert consumed <= credited
        # The provider bills no more than the budget, except for calls in progress at the kill.
        assert sum(map(price, served)) <= credited + max(0, lost[key]), (key, lost[key])
    audited(store, KEYS)
    print("statuses", sorted(before.statuses.items()), sorted(after.statuses.items()))
    print("not charged for the killed proxy, in micro-cents:", lost)


async def test_calls_that_are_charged_first_never_bill_more_than_a_budget(
    tmp_path: Path, server: Server, store: Store, provider: Provider
) -> None:
    for key in KEYS:
        store.create(key, buckets=[NewBucket("main", "ucent", LIMIT if key == LIMITED else PLENTY)])
    with proxy_of(tmp_path, server, provider, when_killed="charged") as proxy:
        # Killed twice in the middle, then not again.
        for first, is_killed in ((0, True), (200, True), (400, False)):
            await proxy.start()
            callers = Callers(proxy.url)
            async with session() as open:
                going = asyncio.ensure_future(burst(callers, open, range(first, first + 200)))
                if is_killed:
                    await until(partial(has_answers, callers, 20), "20 calls are answered")
                    proxy.kill()
                await going
    # The calls in progress at the kills stay charged, so nothing is billed that is not charged.
    for key in KEYS:
        totals = store.audit(key).buckets[0]
        charged = totals.consumed - totals.refunded
        assert sum(map(price, await of(provider, key))) <= charged <= totals.credited
        assert totals.held == 0
    assert callers.count(429, LIMITED) > 0
    audited(store, KEYS)


def has_answers(callers: Callers, count: int) -> bool:
    return callers.count(200) >= count


async def of(provider: Provider, key: str) -> list[dict[str, Any]]:
    return [record for record in await provider.served() if record["key"] == key]


async def test_the_books_are_what_the_provider_bills(store: Store, provider: Provider, proxy: Proxy) -> None:
    store.create("alice", buckets=[NewBucket("main", "ucent", PLENTY)])
    await proxy.start()
    callers = Callers(proxy.url)
    async with session() as open:
        for body in ({}, {"stream": True}, {"stream": True, "stream_options": {"include_usage": True}}):
            assert await callers.call(open, "alice", "say=7", **body) == 200
        assert await callers.call(open, "alice", "fail") == 500
    await until(lambda: books(store, "alice")[2] == 0, "every call is settled")
    assert books(store, "alice")[1] == sum(map(price, await of(provider, "alice")))
    audited(store, ["alice"])


async def test_who_goes_away_pays_for_what_was_done(store: Store, provider: Provider, proxy: Proxy) -> None:
    for key in ("alice", "bob"):
        store.create(key, buckets=[NewBucket("main", "ucent", PLENTY)])
    await proxy.start()
    callers = Callers(proxy.url)
    async with session() as open:
        await callers.leave(open, "alice", "say=50")
        going = asyncio.ensure_future(callers.call(open, "bob", "wait say=7"))
        while not await of(provider, "bob"):
            await asyncio.sleep(0.05)
        going.cancel()
        await asyncio.wait([going])
        await provider.go_on()
        # One call after each abandoned one: the proxy continues to work.
        assert await callers.call(open, "bob", "say=7") == 200
    await until(lambda: not any(books(store, key)[2] for key in ("alice", "bob")), "every call is settled")
    # The stream is charged its maximum, because the billed amount was not reported.
    assert 50 * OUTPUT < books(store, "alice")[1] < 70 * OUTPUT
    assert books(store, "bob")[1] == sum(map(price, await of(provider, "bob")))


async def test_a_stream_that_is_left_costs_what_was_seen_where_the_settings_say_so(
    tmp_path: Path, server: Server, store: Store, provider: Provider
) -> None:
    store.create("alice", buckets=[NewBucket("main", "ucent", PLENTY)])
    with proxy_of(tmp_path, server, provider, cut_streams="counted") as proxy:
        await proxy.start()
        async with session() as open:
            await Callers(proxy.url).leave(open, "alice", "say=50")
        await until(lambda: books(store, "alice")[1] > 0, "the stream is charged")
    # The provider and the proxy may disagree about how much was sent when the reader left.
    assert 0 < books(store, "alice")[1] < 50 * OUTPUT
    assert books(store, "alice")[2] == 0


async def test_what_a_reader_leaves_does_not_make_reasoning_free(
    store: Store, provider: Provider, proxy: Proxy
) -> None:
    store.create("alice", buckets=[NewBucket("main", "ucent", PLENTY)])
    await proxy.start()
    async with session() as open:
        await Callers(proxy.url).leave(open, "alice", "say=50 think", max_tokens=1100)
    await until(lambda: books(store, "alice")[1] > 0, "the stream is charged")
    assert books(store, "alice")[1] >= sum(map(price, await of(provider, "alice")))


async def test_no_answer_is_free_because_its_provider_says_nothing_of_it(
    store: Store, provider: Provider, proxy: Proxy
) -> None:
    for key in ("alice", "bob"):
        store.create(key, buckets=[NewBucket("main", "ucent", PLENTY)])
    await proxy.start()
    callers = Callers(proxy.url)
    async with session() as open:
        assert await callers.call(open, "alice", "silent say=40") == 200
        assert await callers.call(open, "bob", "minus say=40") == 200
    for key in ("alice", "bob"):
        bill = sum(map(price, await of(provider, key)))
        assert books(store, key)[2] == 0
        # Tokens are counted nearly as the provider counts them.
        assert 0.9 * bill <= books(store, key)[1] <= 1.5 * bill
    assert "answered with no usage" in proxy.log.read_text() or "a usage that cannot be" in proxy.log.read_text()
    audited(store, ["alice", "bob"])


async def test_an_answer_from_the_cache_costs_nothing(
    tmp_path: Path, server: Server, store: Store, provider: Provider
) -> None:
    store.create("alice", buckets=[NewBucket("main", "ucent", PLENTY)])
    with proxy_of(tmp_path, server, provider) as made:
        made.config["litellm_settings"] |= {"cache": True, "cache_params": {"type": "local"}}
        with Proxy(tmp_path, made.config) as proxy:
            await proxy.start()
            callers = Callers(proxy.url)
            async with session() as open:
                for body in ({}, {}, {}, {"stream": True}, {"stream": True}):
                    assert await callers.call(open, "alice", "say=40", **body) == 200
                    await until(lambda: books(store, "alice")[2] == 0, "the call is settled")
    served = await of(provider, "alice")
    assert len(served) < 5, "nothing came from the cache"
    assert books(store, "alice")[1] == sum(map(price, served))


async def test_a_refusal_names_the_budget_and_what_is_left(store: Store, provider: Provider, proxy: Proxy) -> None:
    left = 10 * OUTPUT
    store.create("alice", buckets=[NewBucket("main", "ucent", left)])
    await proxy.start()
    callers = Callers(proxy.url)
    async with session() as open:
        assert await callers.call(open, "alice", "say=7") == 429
        assert await callers.call(open, "nobody", "say=7") == 403
    assert "budget alice: " in callers.refusals[0] and f"and {left} are left (balance)" in callers.refusals[0]
    assert "budget nobody: there is no such account" in callers.said[-1]
    assert await of(provider, "alice") == []


async def test_a_call_that_takes_longer_than_its_hold_is_held_to_its_end(
    store: Store, provider: Provider, proxy: Proxy
) -> None:
    store.create("alice", buckets=[NewBucket("main", "ucent", PLENTY)])
    await proxy.start()
    callers = Callers(proxy.url)
    async with session() as open:
        going = asyncio.ensure_future(callers.call(open, "alice", "wait say=7"))
        await until(lambda: bool(deadlines(store)), "the call is held")
        first = deadlines(store)
        await until(lambda: deadlines(store) != first, "its hold is renewed")
        assert len(deadlines(store)) == 1
        assert books(store, "alice")[2] > 0
        await provider.go_on()
        assert await going == 200
    await until(lambda: books(store, "alice")[2] == 0, "the call is settled")
    assert books(store, "alice")[1] == sum(map(price, await of(provider, "alice")))


def deadlines(store: Store) -> list[int]:
    return [found.deadline for found in store.get("alice").sessions]


async def test_a_key_its_team_and_its_organisation_pay_together(
    tmp_path: Path, server: Server, store: Store, provider: Provider
) -> None:
    accounts = ["{$org_id}:key:$key_alias", "{$org_id}:team:$team_id", "{$org_id}"]
    scurry = {"url": server.url, "accounts": accounts, "default_max_tokens": 50}
    callback = {"callbacks": "scurry_litellm.plugin.budgets"}
    made = ["{acme}:key:alice", "{acme}:team:red", "{acme}"]
    for account in made:
        store.create(account, buckets=[NewBucket("main", "ucent", LIMIT if "team" in account else PLENTY)])
    with Proxy(tmp_path, config_of(provider, litellm_settings=callback, callback_settings={"scurry": scurry})) as proxy:
        await proxy.start()
        callers = Callers(proxy.url)
        async with session() as open:
            await asyncio.gather(*(callers.call(open, "alice.red.acme", "say=50") for _ in range(30)))
        await until(lambda: not any(books(store, account)[2] for account in made), "every call is settled")
    bill = sum(map(price, await of(provider, "alice.red.acme")))
    assert {books(store, account)[1] for account in made} == {bill}
    assert 0 < bill <= LIMIT
    assert callers.count(200) > 0 and callers.count(200) + callers.count(429) == 30
    assert all("budget {acme}:team:red: " in refusal for refusal in callers.refusals)


async def test_the_example_does_what_the_readme_says(tmp_path: Path, server: Server, store: Store) -> None:
    config = yaml.safe_load((PLUGIN / "examples/config.yaml").read_text())
    config["callback_settings"]["scurry"]["url"] = server.url
    store.create("default_user_id", buckets=[NewBucket("june", "ucent", 600_000)])
    with Proxy(tmp_path, config) as proxy:
        await proxy.start()
        callers = Callers(proxy.url, bearer=MASTER)
        hello = [{"role": "user", "content": "hello"}]
        async with session() as open:
            done = [await callers.call(open, "-", "", model="gpt-4o", messages=hello) for _ in range(6)]
    assert done == [200] * 5 + [429]
    text = (PLUGIN / "README.md").read_text()
    refusal = re.search(r"^    (budget default_user_id: .*)$", text, re.MULTILINE)
    assert refusal is not None and refusal[1] in callers.refusals[0]


async def test_no_fallback_and_no_extra_body_spends_more_than_a_budget(
    tmp_path: Path, server: Server, store: Store, provider: Provider
) -> None:
    budget = 150 * OUTPUT
    store.create("alice", buckets=[NewBucket("main", "ucent", budget)])
    with proxy_of(tmp_path, server, provider) as proxy:
        config = proxy.config
        fake = config["model_list"][0]["litellm_params"]
        broken = fake | {"model": "openai/broken", "input_cost_per_token": 1e-8, "output_cost_per_token": 1e-8}
        config["model_list"] += [{"model_name": name, "litellm_params": broken} for name in ("broken", "led")]
        config["router_settings"]["fallbacks"] = [{"led": ["fake"]}]
        with Proxy(tmp_path, config) as again:
            await again.start()
            callers = Callers(again.url)
            changed = {"model": "fake", "max_tokens": 400}
            async with session() as open:
                dear: list[dict[str, Any]] = [
                    {"model": "broken", "max_tokens": 400, "fallbacks": ["fake"]},
                    {"model": "broken", "fallbacks": [changed]},
                    {"model": "led", "max_tokens": 400},
                    {"extra_body": {"max_completion_tokens": 400}},
                    {"extra_body": {"n": 8}},
                ]
                for body in dear:
                    assert await callers.call(open, "alice", "say=400", **body) == 429, body
                wrong: list[tuple[dict[str, Any], str]] = [
                    ({"model": "broken", "fallbacks": ["nobody-knows"]}, "has no price"),
                    ({"n": 10**400}, "n: a whole number"),
                    ({"max_tokens": "many"}, "max_tokens: a whole number"),
                    ({"extra_body": {"model": "fake"}}, "extra_body: no model there"),
                ]
                for body, why in wrong:
                    assert await callers.call(open, "alice", "say=7", **body) == 400, body
                    assert why in callers.said[-1]
                assert await of(provider, "alice") == []
                assert await callers.call(open, "alice", "say=7", model="led") == 200
            await until(lambda: books(store, "alice")[2] == 0, "the call is settled")
    served = [one for one in await of(provider, "alice") if one["state"] == "served"]
    assert books(store, "alice")[1] == sum(map(price, served)) > 0


async def test_without_scurry_no_call_reaches_the_provider(
    server: Server, store: Store, provider: Provider, proxy: Proxy
) -> None:
    store.create("alice", buckets=[NewBucket("main", "ucent", PLENTY)])
    await proxy.start()
    callers = Callers(proxy.url)
    server.kill()
    async with session() as open:
        assert await callers.call(open, "alice", "say=7") == 503
        assert await of(provider, "alice") == []
        server.start()
        assert await callers.call(open, "alice", "say=7") == 200
    await until(lambda: books(store, "alice")[2] == 0, "the call is settled")
    audited(store, ["alice"])
