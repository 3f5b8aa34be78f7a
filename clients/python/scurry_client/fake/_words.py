"""The words of a command, as the server's grammar has them."""

from __future__ import annotations

import re
from typing import Any

from ._values import I64_MAX, Reject

PERIODS = ("none", "hour", "day", "week", "month")
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
FRACTIONS = "amounts are whole numbers of minor units, without a fraction"


def invalid(message: str) -> Reject:
    return Reject("INVALID", message)


class Malformed(Reject):
    """Words that are not of the grammar: of a chain they are refused before any of its commands is looked at."""


def malformed(message: str) -> Malformed:
    return Malformed("INVALID", message)


class Words:
    """The words behind the name of a command, taken one by one."""

    def __init__(self, words: list[bytes]) -> None:
        self.words = words
        self.at = 0

    def is_over(self) -> bool:
        return self.at >= len(self.words)

    def take(self, field: str) -> bytes:
        if self.is_over():
            raise malformed(f"{field} is missing")
        self.at += 1
        return self.words[self.at - 1]

    def peek(self) -> str:
        """The next word as a keyword."""
        return "" if self.is_over() else self.words[self.at].decode("latin-1").upper()

    def id(self, field: str, most: int) -> str:
        return checked(self.take(field), field, most)

    def account(self) -> str:
        return self.id("account", 128)

    def session(self) -> str:
        return self.id("session", 64)

    def txn(self) -> str:
        return self.id("txn", 64)

    def name(self, field: str) -> str:
        return self.id(field, 16)

    def key(self) -> str | int:
        text = self.id("key", 32)
        if re.fullmatch(r"0|[1-9]\d{0,9}", text) and int(text) < 2**32:
            return int(text)
        return text

    def duration(self, field: str) -> int:
        """Milliseconds: a number with its unit, or one that is not short without."""
        text = self.take(field).decode("latin-1")
        found = re.fullmatch(r"(0|-?[1-9]\d*)(ms|s|m|h)?", text, re.IGNORECASE | re.ASCII)
        ms = int(found[1]) * UNITS[(found[2] or "ms").lower()] if found else I64_MAX + 1
        if found is None or not -I64_MAX - 1 <= ms <= I64_MAX:
            unit = "it is a time with its unit (ms, s, m, h), as 60s"
            raise malformed(f"{field} is not an integer or out of range: {unit}")
        if found[2] is None and 1 <= ms < 1000:
            raise malformed(f"{field} {ms} is {ms} milliseconds: write {ms}s for seconds, or {ms}ms where that is meant")
        return ms

    def integer(self, field: str, least: int = -I64_MAX - 1, most: int = I64_MAX) -> int:
        text = self.take(field).decode("latin-1")
        if not re.fullmatch(r"0|-?[1-9]\d*", text) or not -I64_MAX - 1 <= int(text) <= I64_MAX:
            raise malformed(f"{field} is not an integer or out of range: {FRACTIONS}")
        if not least <= int(text) <= most:
            raise invalid(f"{field} must be {least} to {most}")
        return int(text)

    def request(self) -> int:
        text = self.words[self.at].decode("latin-1") if not self.is_over() else ""
        if not re.fullmatch(r"0|[1-9]\d*", text) or int(text) >= 2**32:
            raise malformed("request is not an integer or out of range: the request's number, behind the session")
        self.at += 1
        return int(text)

    def choice(self, field: str, choices: tuple[str, ...]) -> str:
        word = self.take(field).decode("latin-1").lower()
        if word not in choices:
            raise malformed(f"{field} must be {', '.join(choices)}")
        return word

    def time_or_none(self, field: str) -> int | None:
        if self.peek() == "NONE":
            self.at += 1
            return None
        return self.integer(field, 0)


def checked(raw: bytes, field: str, most: int) -> str:
    if not 1 <= len(raw) <= most or not all(0x21 <= byte <= 0x7E for byte in raw):
        raise malformed(f"{field} must be 1 to {most} printable ASCII characters without space")
    return raw.decode()


class Options:
    """Options that were given, each once."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}

    def put(self, keyword: str, value: Any) -> None:
        if keyword in self.given:
            raise malformed(f"{keyword} is given twice")
        self.given[keyword] = value

    def get(self, keyword: str, default: Any = None) -> Any:
        return self.given.get(keyword, default)

    def __contains__(self, keyword: str) -> bool:
        return keyword in self.given


OF_ITEMS = {"USED", "REQUESTED", "MIN"}


def unexpected(words: Words) -> Malformed:
    word = words.peek()
    hint = ""
    if word in OF_ITEMS:
        hint = ": it stands behind an ITEM"
    elif re.fullmatch(r"-?\d+", word):
        hint = ": a number has its word before it"
    return malformed(f"unexpected argument '{words.words[words.at].decode('latin-1')}'{hint}")


# How each option of a session's request is read.
def session_option(words: Words, keyword: str) -> Any:
    if keyword in ("CLOSEONDENIAL", "KEEPOPEN", "LATEUSE"):
        return True
    if keyword == "OVERRUN":
        return words.choice("overrun", ("overdraw", "clamp"))
    if keyword == "DATA":
        return words.take("data")
    if keyword in ("VALIDITY", "TCC"):
        return words.duration(keyword.lower())
    return words.integer(keyword.lower(), 0 if keyword == "IFVERSION" else -(2**63))


RESERVE_OPTIONS = {"VALIDITY", "TCC", "OVERRUN", "CLOSEONDENIAL", "KEEPOPEN", "DATA"}
UPDATE_OPTIONS = {"IFVERSION", "VALIDITY", "TCC", "CLOSEONDENIAL", "DATA", "LATEUSE", "OVERRUN"}
TERMINATE_OPTIONS = {"IFVERSION", "LATEUSE", "OVERRUN"}
ALL_OPTIONS = RESERVE_OPTIONS | UPDATE_OPTIONS
OF_COMMANDS = {
    "SCUR.RESERVE": (RESERVE_OPTIONS, {"REQUESTED", "MIN"}),
    "SCUR.UPDATE": (UPDATE_OPTIONS, OF_ITEMS),
    "SCUR.TERMINATE": (TERMINATE_OPTIONS, {"USED"}),
}


def belongs_elsewhere(name: str, keyword: str) -> Malformed:
    """An option that other commands of a session have, and this one has not."""
    within = 0 if keyword in ALL_OPTIONS else 1
    owners = [owner for owner, known in OF_COMMANDS.items() if keyword in known[within] and owner != name]
    return malformed(f"unexpected argument '{keyword}': it is for {' and '.join(owners)}")


class ItemWords:
    """One ITEM of a request."""

    def __init__(self, key: str | int, unit: str) -> None:
        self.key = key
        self.unit = unit
        self.options = Options()

    @property
    def used(self) -> int:
        return int(self.options.get("USED", 0))

    @property
    def requested(self) -> int:
        return int(self.options.get("REQUESTED", 0))

    @property
    def min(self) -> int:
        return max(1, int(self.options.get("MIN", 1)))

    def body(self) -> object:
        return (self.key, self.unit, self.used, self.requested, self.min)


def session_request(name: str, words: Words) -> tuple[Options, list[ItemWords]]:
    """Options and items, in any order."""
    own, of_items = OF_COMMANDS[name]
    options = Options()
    items: list[ItemWords] = []
    while not words.is_over():
        keyword = words.peek()
        if keyword == "ITEM":
            words.take("item")
            items.append(ItemWords(words.key(), words.name("unit")))
        elif keyword in own:
            words.take(keyword)
            options.put(keyword, session_option(words, keyword))
        elif items and keyword in of_items:
            words.take(keyword)
            items[-1].options.put(keyword, words.integer(keyword.lower()))
        elif keyword in ALL_OPTIONS or (items and keyword in OF_ITEMS):
            raise belongs_elsewhere(name, keyword)
        else:
            raise unexpected(words)
    return options, items


def no_item_twice(items: list[Any]) -> None:
    if len({(item.key, item.unit) for item in items}) != len(items):
        raise invalid("a key stands twice with one unit")
