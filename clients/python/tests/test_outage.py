"""A real server that is killed in the middle of sessions: use is charged exactly once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from server import PATIENCE, Server

from scurry_client import NewBucket, Retry, Store

WORKERS = 4
ACCOUNTS = 2
KILLS = 3
# Number of sessions that must end before each kill, and after the last one.
SESSIONS = 12
CREDIT = 10_000_000
PATIENT = Retry(patience=PATIENCE)


class Work:
    """Runs sessions one after the other until it is stopped, and records the use of each."""

    def __init__(self, connect: Callable[[], Store]) -> None:
        self.connect = connect
        self.lock = threading.Condition()
        self.ended = 0
        self.used = dict.fromkeys((f"org-{number}" for number in range(ACCOUNTS)), 0)
        self.failures: list[BaseException] = []
        self.is_over = False

    def run(self, worker: int) -> None:
        try:
            with self.connect() as store:
                number = 0
                while not self.is_over:
                    number += 1
                    self.session(store, f"org-{(worker + number) % ACCOUNTS}", worker, number)
        except BaseException as error:
            self.failures.append(error)
            with self.lock:
                self.lock.notify_all()

    def session(self, store: Store, account: str, worker: int, number: int) -> None:
        with store.session(account, unit="ucent", hold=500, ttl=600, id=f"w{worker}-{number}") as session:
            session.use(100 + number % 7)
            session.extend(200)
            session.use(30)
            session.report()
            session.use(5)
        debited = store.debit(account, f"d{worker}-{number}", "ucent", 3)
        with self.lock:
            self.used[account] += session.used() + debited.amount
            self.ended += 1
            self.lock.notify_all()

    @contextmanager
    def under_way(self) -> Iterator[None]:
        threads = [threading.Thread(target=self.run, args=[worker]) for worker in range(WORKERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.is_over = True
            for thread in threads:
                thread.join(PATIENCE)

    def check(self, store: Store) -> None:
        """Checks that the charge equals the use, in each account and in total."""
        assert not self.failures, self.failures
        for account, used in self.used.items():
            bucket = store.get(account).buckets[0]
            assert (bucket.available, bucket.held) == (CREDIT - used, 0)
            assert store.audit(account).ok
        totals = store.totals()
        assert totals.sessions == 0
        assert totals.units[0].consumed == sum(self.used.values())

    def wait_for(self, sessions: int) -> None:
        with self.lock:
            goal = self.ended + sessions
            assert self.lock.wait_for(lambda: self.ended >= goal or self.failures, PATIENCE), "sessions do not end"
        assert not self.failures, self.failures


def test_nothing_is_charged_twice_and_nothing_is_lost(tmp_path: Path) -> None:
    with Server("--durability", "write", directory=tmp_path) as server, Store.connect(server.url) as store:
        work = Work(lambda: Store.connect(server.url, retry=PATIENT))
        for account in work.used:
            store.create(account, buckets=[NewBucket("main", "ucent", CREDIT)])
        with work.under_way():
            for _ in range(KILLS):
                work.wait_for(SESSIONS)
                server.kill()
                server.start()
            work.wait_for(SESSIONS)
        work.check(store)
