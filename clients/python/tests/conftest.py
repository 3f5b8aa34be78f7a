from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from server import Server

from scurry_client import Store


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path) as running:
        yield running


@pytest.fixture
def store(server: Server) -> Iterator[Store]:
    with Store.connect(server.url) as connected:
        yield connected
