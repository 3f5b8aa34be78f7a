"""Fixtures of pytest for programs that use the client. Put this into the `conftest.py` at the root of the tests:

    pytest_plugins = ["scurry_client.pytest_plugin"]

A test then has the parameter `scurry_server` or `scurry_store`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ._store import Store
from .testing import Server


@pytest.fixture(scope="session")
def scurry_session_server() -> Iterator[Server]:
    """Starts one server in memory for the whole run, since emptying it is faster than starting another."""
    with Server() as server:
        yield server


@pytest.fixture
def scurry_server(scurry_session_server: Server) -> Server:
    """Returns a server that is empty at the start of the test: `url` is its address."""
    scurry_session_server.empty()
    return scurry_session_server


@pytest.fixture
def scurry_store(scurry_server: Server) -> Iterator[Store]:
    """Returns a `Store` on that server."""
    with Store.connect(scurry_server.url) as store:
        yield store
