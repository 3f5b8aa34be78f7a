from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from server import Server

from scurry_client import Store

pytest_plugins = ["scurry_client.pytest_plugin"]


@pytest.fixture
def server(scurry_server: Server) -> Server:
    return scurry_server


@pytest.fixture
def store(scurry_store: Store) -> Store:
    return scurry_store


@pytest.fixture
def durable_server(tmp_path: Path) -> Iterator[Server]:
    """Starts a server for one test, which stores events and survives a kill."""
    with Server("--durability", "write", directory=tmp_path / "store") as running:
        yield running


@pytest.fixture
def durable_store(durable_server: Server) -> Iterator[Store]:
    with Store.connect(durable_server.url) as connected:
        yield connected
