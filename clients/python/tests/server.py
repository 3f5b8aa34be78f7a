"""The server that the tests start: the one of SCURRY_BIN, else the newest build in this repository."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from scurry_client.testing import Server, find_binary

__all__ = ["PATIENCE", "REPOSITORY", "Server", "find_binary", "limits", "until"]

REPOSITORY = Path(__file__).resolve().parents[3]
PATIENCE = 120


def name_newest() -> None:
    built = [REPOSITORY / "target" / profile / "scurry" for profile in ("debug", "release")]
    there = [path for path in built if path.exists()]
    if there:
        os.environ.setdefault("SCURRY_BIN", str(max(there, key=lambda path: path.stat().st_mtime)))


name_newest()


def limits(directory: Path, values: Mapping[str, int | str]) -> tuple[str, str]:
    """Returns the option that sets these limits of a server."""
    path = directory / "settings.toml"
    path.write_text("[limits]\n" + "".join(f"{name} = {value!r}\n" for name, value in values.items()))
    return "--config", str(path)


def until(is_so: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, f"it does not come to it: {what}"
