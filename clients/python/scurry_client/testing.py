"""A real server for the tests of programs that use the client: in memory, on a free local port.

    with Server() as server, Store.connect(server.url) as store:
        store.create("org-7", buckets=[NewBucket("main", "ucent", 1000)])

`scurry_client.pytest_plugin` offers the same as fixtures.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import IO, Self

from ._store import Store

__all__ = ["Server", "find_binary"]

PATIENCE = 120.0
"""Seconds until a server must listen, or must have ended; generous, because a busy host may stall."""
CURE = (
    "install the wheel of the server beside this package (pip install ./scurry-VERSION-*.whl), "
    "name a binary in SCURRY_BIN, or put one on PATH"
)


def find_binary() -> Path:
    """Returns the binary named by SCURRY_BIN, else the one of the wheel `scurry`, else the first on PATH."""
    if named := os.environ.get("SCURRY_BIN"):
        if not os.access(named, os.X_OK):
            raise FileNotFoundError(f"SCURRY_BIN names {named}, which is no program: {CURE}")
        return Path(named)
    # Where pip installs the programs of a wheel: for this Python, then for this user.
    schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
    for scheme in schemes:
        if found := shutil.which("scurry", path=sysconfig.get_path("scripts", scheme)):
            return Path(found)
    if found := shutil.which("scurry"):
        return Path(found)
    raise FileNotFoundError(f"there is no scurry binary: {CURE}")


class Server:
    """Runs `scurry serve` for a `with` block, and kills it at the end, also after an exception.

    It keeps its data in memory; events and statements need a `directory`. The options are those of `scurry serve`.
    `port` stays the same when the server is started again.
    """

    def __init__(self, *options: str, directory: str | os.PathLike[str] | None = None) -> None:
        store = ("--durability", "none") if directory is None else ("--dir", os.fspath(directory))
        self.options = [*store, *options]
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """Returns the server's output since it was last started."""
        if self._output is None:
            return ""
        # `pread` does not move the file position, at which the server writes.
        return os.pread(self._output.fileno(), os.fstat(self._output.fileno()).st_size, 0).decode(errors="replace")

    def start(self) -> Self:
        """Starts the server and returns when it listens; raises a RuntimeError with its output if it does not start."""
        self.kill()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  the server writes to it until it is killed
        self.process = subprocess.Popen(
            [find_binary(), "serve", "--listen", f"127.0.0.1:{self.port}", *self.options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._output,
        )
        # A server that is still running is killed when the program ends.
        atexit.register(self.kill)
        try:
            self.port = self._listening()
        except BaseException:
            self.kill()
            raise
        return self

    def _listening(self) -> int:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            # Check for the end before reading the log: if it has ended, its output is complete.
            has_ended = not self.is_running
            if found := re.search(r"^listening on 127\.0\.0\.1:(\d+)$", self.log, re.MULTILINE):
                return int(found[1])
            if has_ended:
                break
            time.sleep(0.001)
        raise RuntimeError(f"the server did not start: {self.log}")

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def empty(self) -> None:
        """Deletes all accounts, entities and keys. Starts the server again if it has ended."""
        if not self.is_running:
            self.start()
        with Store.connect(self.url) as store:
            store.connection.execute_command("FLUSHALL", "FORCE")

    def kill(self) -> None:
        """Ends the server with SIGKILL, so that it finishes nothing and writes nothing."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)
            self.process = None
            atexit.unregister(self.kill)
        if self._output is not None:
            self._output.close()
            self._output = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()
