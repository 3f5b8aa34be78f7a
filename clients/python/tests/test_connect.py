"""The library that a URL selects."""

from __future__ import annotations

import asyncio
import pickle
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import redis
import valkey
from faulty import Faulty
from server import REPOSITORY, Server

import scurry_client
from scurry_client import Denied, NewBucket, Retry, Store, Unreachable, aio

ENDLESS = Retry(patience=1e9, patience_first=1e9)
"""Retries without end, in spite of which a wrong address is reported."""


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


def test_a_port_where_nobody_listens_is_told_with_the_cure() -> None:
    assert Retry().patience_first <= 3
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{bound.getsockname()[1]}"
        impatient = Retry(patience=1e9, patience_first=0)
        with Store.connect(url, retry=impatient) as store, pytest.raises(Unreachable, match="is one running there"):
            store.get("alice")

        async def awaited() -> None:
            async with aio.Store.connect(url, retry=impatient) as store:
                with pytest.raises(Unreachable, match="is one running there"):
                    await store.debit("alice", "t", "cent", 1)

        asyncio.run(awaited())


def test_a_server_that_has_answered_once_is_waited_for(store: Store) -> None:
    fates = iter([None, "refused", "refused", None])
    faulty = Faulty(store.connection, lambda *_: next(fates))
    shaky = Store(faulty, retry=Retry(patience=60, patience_first=0, pause=0.001, pause_max=0.001))
    assert shaky.create("alice").version == 1
    assert shaky.get("alice").version == 1
    assert len(faulty.sent) == 4


def test_a_question_that_is_not_answered_leaves_no_doubt(store: Store) -> None:
    store.create("alice")
    faulty = Faulty(store.connection, lambda *_: "answer")
    with pytest.raises(Unreachable):
        Store(faulty, retry=Retry(patience=0)).get("alice")


def free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize("scheme", ["redis", "valkey"])
def test_a_port_of_http_is_told_at_once(tmp_path: Path, scheme: str) -> None:
    port = free_port()
    with Server("--http-listen", f"127.0.0.1:{port}"):
        url = f"{scheme}://127.0.0.1:{port}"
        with Store.connect(url, retry=ENDLESS) as store, pytest.raises(Unreachable, match="HTTP is spoken"):
            store.debit("alice", "t", "cent", 1)

        async def awaited() -> None:
            async with aio.Store.connect(url, retry=ENDLESS) as store:
                with pytest.raises(Unreachable, match="HTTP is spoken"):
                    await store.get("alice")

        asyncio.run(awaited())


@pytest.mark.parametrize("scheme", ["rediss", "valkeys"])
def test_tls_to_a_plain_port_is_told_with_the_cure(server: Server, scheme: str) -> None:
    url = f"{scheme}://127.0.0.1:{server.port}"
    # The server closes the connection, as one that stops would, so the client retries for a moment.
    impatient = Retry(patience=1e9, patience_first=0)
    with Store.connect(url, retry=impatient) as store, pytest.raises(Unreachable, match="does not speak TLS"):
        store.debit("alice", "t", "cent", 1)

    async def awaited() -> None:
        async with aio.Store.connect(url, retry=impatient) as store:
            with pytest.raises(Unreachable, match="speak TLS"):
                await store.get("alice")

    asyncio.run(awaited())


def test_what_is_wrong_with_tls_is_told(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2 -subj /CN=scurry "
        f"-addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {certificate}".split(),
        check=True,
        capture_output=True,
    )
    port = free_port()
    tls = ["--tls-listen", f"127.0.0.1:{port}", "--tls-cert", str(certificate), "--tls-key", str(key)]
    with Server(*tls):
        with Store.connect(f"rediss://127.0.0.1:{port}", retry=ENDLESS, ssl_ca_certs=str(certificate)) as store:
            assert store.create("alice").version == 1
        with (
            Store.connect(f"rediss://127.0.0.1:{port}", retry=ENDLESS) as store,
            pytest.raises(Unreachable, match="give ssl_ca_certs"),
        ):
            store.get("alice")
        with (
            Store.connect(f"redis://127.0.0.1:{port}", retry=Retry(patience_first=0)) as store,
            pytest.raises(Unreachable, match="does this port speak TLS"),
        ):
            store.get("alice")


def test_types_have_the_name_by_which_they_are_imported() -> None:
    exported = {name: getattr(scurry_client, name) for name in scurry_client.__all__}
    types = {name: kind for name, kind in exported.items() if isinstance(kind, type)}
    assert "UnknownAccount" in types and "Bucket" in types
    assert {name: kind.__module__ for name, kind in types.items()} == dict.fromkeys(types, "scurry_client")
    bucket = NewBucket("main", "cent", 1)
    assert pickle.loads(pickle.dumps(bucket)) == bucket
    assert pickle.loads(pickle.dumps(Denied)) is Denied


def test_building_a_package_leaves_nothing_in_its_directory(tmp_path: Path) -> None:
    # Both packages are built by the same tool; each release builds the client's own.
    tools = [
        tomllib.loads((REPOSITORY / "clients" / package / "pyproject.toml").read_text())["build-system"]
        for package in ("python", "litellm")
    ]
    assert tools[0] == tools[1]
    sources = tmp_path / "sources"
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache", "tests")
    shutil.copytree(REPOSITORY / "clients/litellm", sources, ignore=ignored)
    before = sorted(path.relative_to(sources) for path in sources.rglob("*"))
    pip = "pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir".split()
    subprocess.run([sys.executable, "-m", *pip, tmp_path / "wheels", sources], check=True, capture_output=True)
    assert len(list((tmp_path / "wheels").glob("*.whl"))) == 1
    assert sorted(path.relative_to(sources) for path in sources.rglob("*")) == before
