"""Which library a URL asks for."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import pytest
import redis
import valkey
from server import Server

from scurry_client import NewBucket, Store, aio


@pytest.mark.parametrize(("scheme", "kind"), [("redis", redis.Redis), ("valkey", valkey.Valkey)])
def test_a_url_names_its_library(server: Server, scheme: str, kind: type) -> None:
    url = server.url.replace("redis", scheme)
    with Store.connect(url) as store:
        assert type(store.connection) is kind
        store.create("alice", buckets=[NewBucket("main", "cent", 1000)])
        assert store.get("alice").buckets[0].available == 1000

    async def awaited() -> None:
        async with aio.Store.connect(url) as store:
            assert type(store.connection).__module__.startswith(f"{scheme}.asyncio")
            assert (await store.get("alice")).buckets[0].available == 1000

    asyncio.run(awaited())


@pytest.mark.parametrize("connect", [Store.connect, aio.Store.connect])
def test_a_library_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, connect: Callable[[str], object]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "valkey"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "valkey", None)
    with pytest.raises(ModuleNotFoundError, match="pip install valkey"):
        connect("valkey://:secret@127.0.0.1:6389")
