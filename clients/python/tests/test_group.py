"""A group of three nodes with a leader that is killed in the middle of sessions: use is charged exactly once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry as NoRetry
from server import PATIENCE, find_binary
from test_outage import CREDIT, PATIENT, SESSIONS, Work

from scurry_client import NewBucket, Store


class Group:
    def __init__(self, directory: Path) -> None:
        # Another test may take the free block of ports in the meantime; then another block is tried.
        for attempt in range(5):
            self.directory = directory / f"group-{attempt}"
            try:
                self.said("up")
                return
            except subprocess.CalledProcessError as error:
                why = error.stderr
                self.said("down")
        raise AssertionError(f"no group: {why}")

    def said(self, command: str) -> str:
        words = [str(find_binary()), "replica", command, "--dir", str(self.directory)]
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout

    def nodes(self) -> dict[int, tuple[int, str]]:
        """Returns process and role by main port."""
        rows = re.findall(r"^127\.0\.0\.1:(\d+) +(\d+) +(leader|follower)", self.said("status"), re.MULTILINE)
        return {int(port): (int(process), role) for port, process, role in rows}

    def leader(self) -> int:
        return next(port for port, (_, role) in self.nodes().items() if role == "leader")

    def kill(self, port: int) -> None:
        os.kill(self.nodes()[port][0], signal.SIGKILL)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    running = Group(tmp_path)
    yield running
    running.said("down")


def cluster(ports: list[int]) -> Store:
    """Returns a cluster client without retries of its own."""
    nodes = [ClusterNode("127.0.0.1", port) for port in ports]  # type: ignore[no-untyped-call]
    return Store(RedisCluster(startup_nodes=nodes, retry=NoRetry(NoBackoff(), 0)), retry=PATIENT)


@pytest.mark.parametrize("mode", ["plain", "cluster"])
def test_sessions_go_on_when_the_leader_dies(group: Group, mode: str) -> None:
    leader = group.leader()
    ports = list(group.nodes())
    survivor = next(port for port in ports if port != leader)
    # The main port of any node leads to the leader.
    plain = Store.connect(f"redis://127.0.0.1:{survivor}", retry=PATIENT)
    work = Work(
        (lambda: cluster(ports))
        if mode == "cluster"
        else (lambda: Store.connect(f"redis://127.0.0.1:{survivor}", retry=PATIENT))
    )
    for account in work.used:
        plain.create(account, txn="made", buckets=[NewBucket("main", "ucent", CREDIT)])
    with work.under_way():
        work.wait_for(SESSIONS)
        group.kill(leader)
        work.wait_for(SESSIONS)
    work.check(plain)
    plain.close()
