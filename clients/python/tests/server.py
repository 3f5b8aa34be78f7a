"""A real server for a test: on a free port of this machine, on a directory of its own, killed at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import IO, Self

REPOSITORY = Path(__file__).resolve().parents[3]
PATIENCE = 120


def binary() -> Path:
    """The binary that SCURRY_BIN names, else the newest that this repository has built."""
    if named := os.environ.get("SCURRY_BIN"):
        return Path(named)
    built = [REPOSITORY / "target" / profile / "scurry" for profile in ("debug", "release")]
    there = [path for path in built if path.exists()]
    if not there:
        raise FileNotFoundError("there is no scurry binary: name one in SCURRY_BIN, or cargo build -p scurry-cli")
    return max(there, key=lambda path: path.stat().st_mtime)


class Server:
    """A `scurry serve`; `port` stays the same when it is started again."""

    def __init__(self, directory: Path, *options: str, durability: str = "write", settings: str = "") -> None:
        self.directory = directory
        self.options = list(options)
        self.durability = durability
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        if settings:
            path = directory / "settings.toml"
            path.write_text(settings)
            self.options += ["--config", str(path)]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> Self:
        store = ["--durability", self.durability]
        if self.durability != "none":
            store += ["--dir", str(self.directory / "store")]
        listen = ["--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(
            [str(binary()), "serve", *listen, *store, *self.options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.port = self._listening(self.process.stderr)
        return self

    def _listening(self, said: IO[str]) -> int:
        lines = []
        for line in said:
            lines.append(line)
            if found := re.match(r"listening on 127\.0\.0\.1:(\d+)", line):
                # Nobody reads on: the pipe holds what a test's server says besides.
                return int(found[1])
        raise AssertionError(f"the server did not start: {''.join(lines)}")

    def kill(self) -> None:
        """SIGKILL: nothing is finished and nothing is said."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()
        self.process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.kill()
