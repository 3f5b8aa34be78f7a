"""The same load with the plugin and with LiteLLM's own budgets: how much the provider bills for a key with a limit.

usage: python tests/compare.py [ceiling|two|killed|latency]...; it prints a row for each. This is not a test: it asserts
nothing. The row with Redis needs redis-server.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from world import Callers, Provider, Proxy, config_of, price, session, until  # this sets the paths of the packages

# isort: split
from scurry_client import NewBucket, Store
from server import Server
from test_proxy import CALLS, KEYS, LIMIT, LIMITED, PLENTY, TTL, burst, of

SCURRY = "this plugin"
CHARGED = "this plugin, when_killed: charged"
MEMORY = "LiteLLM, in the proxy's memory"
REDIS = "LiteLLM, with Redis"
READ = "LiteLLM, in memory, disable_budget_reservation"
NONE = "no budget"
KINDS = {"latency": [NONE], "two": [SCURRY, MEMORY, REDIS], "killed": [SCURRY, CHARGED, MEMORY, REDIS]}
OWN = {
    "litellm_settings": {"enable_post_custom_auth_checks": True},
    "general_settings": {"custom_auth_run_common_checks": True},
}


class Redis:
    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        words = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(directory)]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Redis:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def world(kind: str, latency: float) -> AsyncIterator[tuple[Provider, Proxy, Store]]:
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(Server(directory=directory / "store"))
        store = stack.enter_context(Store.connect(server.url))
        provider = stack.enter_context(Provider(directory, latency))
        more: dict[str, Any] = {"router_settings": {"disable_cooldowns": True}}
        if kind in (SCURRY, CHARGED):
            for key in KEYS:
                store.create(key, buckets=[NewBucket("main", "ucent", LIMIT if key == LIMITED else PLENTY)])
            more["litellm_settings"] = {"callbacks": "scurry_litellm.plugin.budgets"}
            more["general_settings"] = {"disable_budget_reservation": True}
            settings = {"url": server.url, "accounts": ["$key_alias"], "ttl": TTL}
            settings["when_killed"] = "charged" if kind == CHARGED else "free"
            more["callback_settings"] = {"scurry": settings}
        elif kind != NONE:
            more |= json.loads(json.dumps(OWN))
        if kind == READ:
            more["general_settings"]["disable_budget_reservation"] = True
        if kind == REDIS:
            redis = stack.enter_context(Redis(directory))
            # The setup that LiteLLM's documentation gives for budgets over several proxies.
            more["router_settings"] |= {"redis_host": "127.0.0.1", "redis_port": redis.port}
            more["litellm_settings"] |= {
                "cache": True,
                "cache_params": {
                    "type": "redis",
                    "host": "127.0.0.1",
                    "port": redis.port,
                    "supported_call_types": [],
                },
            }
        proxy = stack.enter_context(Proxy(directory, config_of(provider, **more)))
        if kind in (MEMORY, READ, REDIS):
            proxy.environment["LITELLM_BUDGETS"] = json.dumps({LIMITED: LIMIT / 1e8})
        await proxy.start()
        yield provider, proxy, store


async def billed(provider: Provider) -> int:
    return sum(map(price, await of(provider, LIMITED)))


async def ended(provider: Provider) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and any(one["state"] == "begun" for one in await provider.served()):
        await asyncio.sleep(0.2)


async def ceiling(kind: str) -> str:
    async with world(kind, 0.5) as (provider, proxy, _), session() as open:
        callers = Callers(proxy.url)
        await burst(callers, open, range(CALLS), max_tokens=50)
        await ended(provider)
        return row(kind, callers, await billed(provider))


async def two(kind: str) -> str:
    """Sends half of the calls to each of two proxies."""
    with tempfile.TemporaryDirectory() as other:
        async with world(kind, 0.5) as (provider, proxy, _), session() as open:
            with Proxy(Path(other), proxy.config) as second:
                second.environment |= proxy.environment
                await second.start()
                callers = [Callers(proxy.url), Callers(second.url)]
                halves = (range(CALLS // 2), range(CALLS // 2, CALLS))
                going = [burst(one, open, half, max_tokens=50) for one, half in zip(callers, halves, strict=True)]
                await asyncio.gather(*going)
                await ended(provider)
                callers[0].statuses += callers[1].statuses
                return row(kind, callers[0], await billed(provider))


async def killed(kind: str) -> str:
    async with world(kind, 0.5) as (provider, proxy, store), session() as open:
        before = Callers(proxy.url)
        going = asyncio.ensure_future(burst(before, open, range(CALLS), max_tokens=50))
        await until(lambda: before.count(200) >= 50, "50 calls are answered")
        proxy.kill()
        await going
        await ended(provider)
        first = await billed(provider)
        # Wait until the plugin's holds have expired, and as long for LiteLLM.
        await asyncio.sleep(TTL)
        charged = charge(store) if kind in (SCURRY, CHARGED) else 0
        await proxy.start()
        after = Callers(proxy.url)
        # Twice, so that the rest of the budget is used.
        await burst(after, open, range(CALLS, 2 * CALLS), max_tokens=50)
        await burst(after, open, range(2 * CALLS, 3 * CALLS), max_tokens=50)
        await ended(provider)
        ours = f", charged by then {charged}, in the end {charge(store)}" if charged else ""
        return f"{row(kind, after, await billed(provider))}; billed before the kill {first}{ours}"


def charge(store: Store) -> int:
    totals = store.audit(LIMITED).buckets[0]
    return totals.consumed - totals.refunded


def row(kind: str, callers: Callers, bill: int) -> str:
    limited = {status: n for (key, status), n in sorted(callers.statuses.items()) if key == LIMITED}
    others: Counter[int] = Counter()
    for (key, status), n in callers.statuses.items():
        others[status] += n if key != LIMITED else 0
    return (
        f"{kind}: billed {bill} of {LIMIT} ({100 * bill / LIMIT:.0f} %), statuses {limited};"
        f" of the other keys {dict(sorted(others.items()))}"
    )


async def latency(_: str) -> str:
    """Sends one call after the other, alternating between proxies that run side by side, in another order each time."""
    kinds = [NONE, SCURRY, CHARGED, MEMORY]
    order = random.Random(7)
    async with AsyncExitStack() as stack:
        open = await stack.enter_async_context(session())
        worlds = [await stack.enter_async_context(world(kind, 0.0)) for kind in kinds]
        callers = [Callers(proxy.url) for _, proxy, _ in worlds]
        for round in range(520):
            if round == 20:
                for one in callers:
                    one.seconds.clear()
            for one in order.sample(callers, len(callers)):
                await one.call(open, KEYS[0], "say=5", max_tokens=5)
        lines = []
        for kind, one in zip(kinds, callers, strict=True):
            cuts = statistics.quantiles(one.seconds, n=100)
            lines.append(f"{kind}: p50 {1000 * cuts[49]:.1f} ms, p99 {1000 * cuts[98]:.1f} ms of {len(one.seconds)}")
        return "\n".join(lines)


async def main(names: list[str]) -> None:
    for name in names or ["ceiling", "two", "killed", "latency"]:
        print(name, flush=True)
        for kind in KINDS.get(name, [SCURRY, MEMORY, REDIS, READ]):
            try:
                print(" ", await globals()[name](kind), flush=True)
            except AssertionError as why:
                print(" ", kind, "failed:", why, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
