"""Commands put together at random: the fake answers as the server does, by codes and by amounts."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import redis
from server import Server

from scurry_client import _retry as retries
from scurry_client.fake import Bounds, FakeConnection

COMMANDS = 2000
SEEDS = range(int(os.environ.get("SCURRY_SEED", "1")), int(os.environ.get("SCURRY_SEED", "1")) + 3)
SETTINGS = "[limits]\nsessions_max = 4\nsession_ids_max = 40\nlimits_max = 4\nbuckets_max = 4\nanswers_max = 3\n"
BOUNDS = Bounds(sessions_max=4, session_ids_max=40, limits_max=4, buckets_max=4, answers_max=3)


# No two buckets of an account have one: the times of their creation, which come next, differ between the two clocks.
PRIORITIES = {"main": "-1 5", "gift": "-2 6", "extra": "0 1"}


class Author:
    """Writes commands that often meet each other: few accounts, ids and units, and small amounts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers: dict[str, int] = {}

    def pick(self, words: str) -> str:
        return self.random.choice(words.split())

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def amount(self, most: int = 60) -> str:
        return str(self.random.randint(0 if self.chance(5) else 1, most))

    def account(self) -> str:
        return self.pick("{t}a {t}b {t}c")

    def txn(self) -> str:
        return f"t{self.random.randrange(400)}"

    def unit(self) -> str:
        return self.pick("cent cent cent octet")

    def command(self) -> list[str]:
        kinds = "create topup topup adjust bucket debit debit refund counter limit check reserve reserve reserve"
        kinds += " update update update update terminate terminate release status delete chain chain get session audit"
        return getattr(self, self.pick(kinds))()  # type: ignore[no-any-return]

    def create(self) -> list[str]:
        words = ["SCUR.CREATE", self.account()]
        for bucket in ("main", "gift")[: self.random.randrange(3)]:
            words += ["BUCKET", bucket, self.unit(), self.amount(300)]
            words += ["PRIORITY", self.pick(PRIORITIES[bucket])]
            words += ["FLOOR", self.pick("0 -20")] if self.chance(30) else []
        return words

    def topup(self) -> list[str]:
        bucket = self.pick("main gift extra")
        words = ["SCUR.TOPUP", self.account(), self.txn(), bucket, self.amount(200)]
        return words + (["UNIT", self.unit()] if bucket == "extra" and self.chance(80) else [])

    def adjust(self) -> list[str]:
        amount = str(self.random.randint(-80, 80))
        return ["SCUR.ADJUST", self.account(), self.txn(), self.pick("main gift extra"), amount]

    def bucket(self) -> list[str]:
        bucket = self.pick("main gift extra")
        words = ["SCUR.BUCKET", self.account(), self.txn(), bucket]
        if self.chance(20):
            return [*words, "REMOVE"]
        return words + (
            ["FLOOR", self.pick("0 -30")] if self.chance(50) else ["PRIORITY", self.pick(PRIORITIES[bucket])]
        )

    def items(self, tail: Any) -> list[str]:
        keys = self.random.sample(["1", "2", "gpt-x"], self.random.randint(1, 2))
        return [word for key in keys for word in ["ITEM", key, self.unit(), *tail()]]

    def debit(self) -> list[str]:
        words = ["SCUR.DEBIT", self.account(), self.txn()]
        return words + (self.items(lambda: [self.amount()]) if self.chance(40) else [self.unit(), self.amount()])

    def refund(self) -> list[str]:
        words = ["SCUR.REFUND", self.account(), self.txn(), self.txn()]
        if self.chance(30):
            return words + self.items(lambda: [self.amount(20)])
        return words + ([self.amount(30)] if self.chance(50) else [])

    def counter(self) -> list[str]:
        amount = str(self.random.randint(-9, 9))
        return ["SCUR.COUNTER", self.account(), self.txn(), self.pick("calls errors"), amount]

    def limit(self) -> list[str]:
        words = ["SCUR.LIMIT", self.account(), self.txn(), self.pick("l1 l2 l3 l4 l5")]
        if self.chance(25):
            return [*words, "REMOVE"]
        if self.chance(20):
            return [*words, "SESSIONS", "AMOUNT", self.pick("1 2 3")]
        words += ["UNIT", self.unit()] + (["ITEM", self.pick("1 gpt-x")] if self.chance(40) else [])
        words += ["PERIOD", "none"] if self.chance(30) else []
        return [*words, "AMOUNT", self.amount(150)]

    def check(self) -> list[str]:
        return ["SCUR.CHECK", self.account(), self.unit(), self.amount(200)]

    def session_id(self) -> str:
        return f"s{self.random.randrange(30)}"

    def number(self, session: str, ahead: int = 1) -> str:
        """Most often the next one; now and then one of before, or one that leaves a gap."""
        number = self.numbers.get(session, 0)
        if self.chance(20):
            number = max(0, number - self.random.randrange(5))
        elif self.chance(15):
            number += 2
        self.numbers[session] = max(self.numbers.get(session, 0), number + ahead)
        return str(number)

    def reserve(self) -> list[str]:
        session = self.session_id()
        words = ["SCUR.RESERVE", self.account(), session, self.number(session)]
        words += [self.pick("CLOSEONDENIAL KEEPOPEN")] if self.chance(25) else []
        words += ["OVERRUN", self.pick("overdraw clamp")] if self.chance(30) else []
        if self.chance(10):
            return words
        return words + self.items(self.asked)

    def asked(self) -> list[str]:
        amount = self.amount()
        return ["REQUESTED", amount] + (["MIN", str(self.random.randint(0, int(amount)))] if self.chance(50) else [])

    def used(self) -> list[str]:
        words = ["USED", self.amount(40)] if self.chance(80) else []
        return words + (self.asked() if self.chance(60) or not words else [])

    def late(self) -> list[str]:
        if not self.chance(15):
            return []
        return ["LATEUSE"] + (["OVERRUN", "clamp"] if self.chance(40) else [])

    def update(self) -> list[str]:
        session = self.session_id()
        words = ["SCUR.UPDATE", self.account(), session, self.number(session)]
        words += ["CLOSEONDENIAL"] if self.chance(10) else []
        words += ["IFVERSION", self.pick("1 2 3")] if self.chance(8) else []
        return words + self.late() + (self.items(self.used) if self.chance(95) else [])

    def terminate(self) -> list[str]:
        session = self.session_id()
        words = ["SCUR.TERMINATE", self.account(), session, self.number(session), *self.late()]
        return words + (self.items(lambda: ["USED", self.amount(40)]) if self.chance(80) else [])

    def release(self) -> list[str]:
        return ["SCUR.RELEASE", self.account(), self.session_id()]

    def status(self) -> list[str]:
        status = self.pick("active active active suspended closed" if self.chance(20) else "active")
        return ["SCUR.STATUS", self.account(), status]

    def delete(self) -> list[str]:
        return ["SCUR.DELETE", self.account()] + (["FORCE"] if self.chance(70) else [])

    def chain(self) -> list[str]:
        words = ["SCUR.CHAIN"]
        for account in self.random.sample(["{t}a", "{t}b", "{t}c"], self.random.randint(1, 3)):
            name, _, *rest = getattr(self, self.pick("reserve update terminate debit topup refund"))()
            words += [account, str(1 + len(rest)), name.removeprefix("SCUR."), *rest]
        return words

    def get(self) -> list[str]:
        return ["SCUR.GET", self.account()]

    def session(self) -> list[str]:
        return ["SCUR.SESSION", self.account(), self.session_id()]

    def audit(self) -> list[str]:
        return ["SCUR.AUDIT", self.account()]


def plain(raw: Any) -> Any:
    """A reply without bytes, and without deadlines, which the two clocks tell a little apart."""
    if isinstance(raw, Mapping):
        found = {plain(key): plain(value) for key, value in raw.items()}
        found.pop("deadline", None)
        if "session" in found:
            # Of a busy account the server lists the session that was asked for alone.
            found.pop("sessions")
        if "sessions" in found and isinstance(found["sessions"], list):
            found["sessions"] = [row[:2] for row in found["sessions"]]
        return found
    if isinstance(raw, (list, tuple)):
        return [plain(entry) for entry in raw]
    return raw.decode("latin-1") if isinstance(raw, bytes) else raw


def outcome(connection: Any, words: list[str]) -> Any:
    try:
        return plain(connection.execute_command(*words, NEVER_DECODE=True))
    except Exception as error:
        if retries.failure_of(error) is not retries.Failure.ANSWERED:
            raise
        return getattr(retries.server_error(error), "code", "ERR")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_fake_answers_as_the_server(seed: int, tmp_path: Path) -> None:
    author = Author(seed)
    fake = FakeConnection(bounds=BOUNDS)
    answered: dict[str, int] = {}
    with Server(tmp_path, durability="none", settings=SETTINGS) as server:
        real = redis.Redis(port=server.port, protocol=3)
        said: list[str] = []
        for number in range(COMMANDS):
            words = author.command()
            said.append(" ".join(words))
            expected, got = outcome(real, words), outcome(fake, words)
            assert got == expected, f"seed {seed}, command {number}:\n" + "\n".join(said[-12:])
            code = str(expected[0]) if isinstance(expected, list) else str(expected)[:20]
            answered[code] = answered.get(code, 0) + 1
        assert outcome(fake, ["SCUR.TOTALS"]) == outcome(real, ["SCUR.TOTALS"])
        real.close()
    for code in ("OK", "CREDIT_LIMIT_REACHED", "REQUEST_MISMATCH", "UNKNOWN_SESSION"):
        assert answered.get(code, 0) > 5, answered
