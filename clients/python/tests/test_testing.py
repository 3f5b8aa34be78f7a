"""The server for users' tests: the choice of the binary, an empty start, and the end with its block or run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from server import REPOSITORY, Server, find_binary

from scurry_client import NewBucket, Store

CLIENT = os.environ | {"PYTHONPATH": str(REPOSITORY / "clients/python")}


def program(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_binary_is_that_of_the_variable_then_of_the_wheel_then_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, installed, found = (program(tmp_path / name / "scurry") for name in ("named", "wheel", "path"))
    monkeypatch.setattr(sysconfig, "get_path", lambda *_: str(installed.parent))
    monkeypatch.setenv("PATH", str(found.parent))
    monkeypatch.setenv("SCURRY_BIN", str(named))
    assert find_binary() == named
    monkeypatch.delenv("SCURRY_BIN")
    assert find_binary() == installed
    installed.unlink()
    assert find_binary() == found


@pytest.mark.parametrize("named", [None, "/nowhere/scurry"])
def test_without_a_binary_the_error_says_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str | None
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda *_: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SCURRY_BIN", named or "")
    with pytest.raises(FileNotFoundError, match=named or "there is no scurry binary") as missing:
        Server().start()
    for cure in ("pip install", "SCURRY_BIN", "PATH"):
        assert cure in str(missing.value)


def test_a_server_that_does_not_start_tells_why() -> None:
    server = Server("--no-such-option")
    with pytest.raises(RuntimeError, match="--no-such-option"):
        server.start()
    assert server.process is None


def test_a_server_ends_with_its_block_whatever_happens() -> None:
    with pytest.raises(KeyError), Server() as server:
        assert server.process is not None and "listening on" in server.log
        process = server.process.pid
        raise KeyError
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_server_that_nobody_kills_ends_with_the_program() -> None:
    program = "from scurry_client.testing import Server; print(Server().start().process.pid)"
    done = subprocess.run([sys.executable, "-c", program], env=CLIENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_a_server_that_has_ended_is_started_again_at_its_port() -> None:
    with Server() as server:
        assert server.process is not None
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        url = server.url
        server.empty()
        assert server.url == url
        with Store.connect(url) as store:
            assert store.totals().accounts == 0


def test_data_in_a_directory_outlives_a_kill(tmp_path: Path) -> None:
    with Server("--durability", "write", directory=tmp_path / "store") as server, Store.connect(server.url) as store:
        store.create("alice", buckets=[NewBucket("main", "cent", 5)])
        server.kill()
        server.start()
        assert store.get("alice").buckets[0].available == 5


TESTS = """
def test_one(scurry_store, scurry_server):
    print("process", scurry_server.process.pid)
    scurry_store.create("alice")
    scurry_store.connection.set("plain", "value")
    assert False, "on purpose"

def test_two(scurry_store, scurry_server):
    print("process", scurry_server.process.pid)
    assert scurry_store.connection.dbsize() == 0
    scurry_store.create("alice")
"""


def test_the_fixtures_give_each_test_an_empty_server_and_end_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["scurry_client.pytest_plugin"]\n')
    (tmp_path / "test_of_a_user.py").write_text(TESTS)
    run = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(run, cwd=tmp_path, env=CLIENT, capture_output=True, text=True)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    processes = {int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("process ")}
    assert len(processes) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(processes.pop(), 0)
