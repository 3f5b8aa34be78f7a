"""The README's blocks of Python run unchanged, one after the other, against a real server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from server import REPOSITORY, Server

from scurry_client import NewBucket, Store

PAGE = REPOSITORY / "clients/python/README.md"
DEFAULT = "redis://127.0.0.1:6389"
# The event at which the test ends the reader.
LAST = "status"


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_blocks_of_the_readme_run(
    durable_server: Server, durable_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, store = durable_server, durable_store
    monkeypatch.chdir(tmp_path)
    for account in ("{acme}", "{acme}:team"):
        store.create(account, buckets=[NewBucket("main", "token", 1000)])
    names: dict[str, Any] = {"__name__": "readme"}
    found = blocks()
    assert len(found) == 7, "a block came or went"
    for block in found:
        code = block.replace(DEFAULT, server.url)
        if "in events(" in code:
            # The reader never ends by itself; here it ends with the last existing event.
            code = code.rstrip() + f"\n    if event.fields['event'] == '{LAST}':\n        break\n"
            store.status("org-7", "suspended")
        exec(compile(code, str(PAGE), "exec"), names)
    assert [bucket.available for bucket in store.get("org-7").buckets] == [96_500]
    assert store.get("{acme}").buckets[0].available == 950
