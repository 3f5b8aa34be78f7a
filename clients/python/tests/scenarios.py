"""Parser of the scenario scripts of testing/conformance, as their README describes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server import REPOSITORY

SCRIPTS = REPOSITORY / "testing" / "conformance" / "scenarios"
START = 1_700_000_000_000
NAMED = re.compile(r"\$[A-Za-z][A-Za-z0-9_]*")


class Any_:
    """`_`: matches anything."""


@dataclass(frozen=True)
class Kept:
    """`$name`: a string that is remembered, and must be the same later."""

    name: str


@dataclass(frozen=True)
class Error:
    """`!CODE "part"`: an error."""

    code: str
    part: str


@dataclass(frozen=True)
class Items:
    entries: list[Any]
    is_open: bool


@dataclass(frozen=True)
class Entries:
    entries: list[tuple[str, Any]]
    is_open: bool


@dataclass
class Line:
    number: int
    words: list[Any]
    expected: Any
    text: str


@dataclass
class Script:
    name: str
    lines: list[Line] = field(default_factory=list)
    limits: dict[str, int | str] = field(default_factory=dict)
    unique: list[str] = field(default_factory=list)
    doors: list[str] = field(default_factory=list)
    sets_clock: bool = False
    """The script needs a clock that can be set, which a server does not have."""


def scripts() -> list[Script]:
    return [read(path) for path in sorted(SCRIPTS.glob("*.scn"))]


def read(path: Path) -> Script:
    script = Script(path.name)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        read_line(script, number, line.strip())
    return script


def read_line(script: Script, number: int, line: str) -> None:
    head, _, rest = line.partition(" ")
    if not line or line.startswith("#") or line.startswith("rule:"):
        return
    if head == "limits":
        values = (word.split("=", 1) for word in rest.split())
        script.limits = {name: int(value) if value.isdigit() else value for name, value in values}
    elif head == "unique":
        script.unique = rest.split()
    elif head == "doors":
        script.doors = rest.split()
    elif head == "at" or re.fullmatch(r"\+\d+", line) or line.startswith("tick "):
        script.sets_clock = True
    else:
        event, expected = split(line)
        pattern, names_times = Reader(expected).whole()
        words, has_times = words_of(event)
        script.sets_clock = script.sets_clock or has_times or names_times
        script.lines.append(Line(number, words, pattern, event))


def moment(text: str) -> int:
    return START + int(text[1:])


def split(line: str) -> tuple[str, str]:
    """Splits a line at the last arrow outside of quotes."""
    quoted = escaped = False
    found = -1
    for at, c in enumerate(line):
        if escaped:
            escaped = False
        elif quoted and c == "\\":
            escaped = True
        elif c == '"':
            quoted = not quoted
        elif not quoted and line.startswith(" => ", at):
            found = at
    assert found >= 0, f"an event needs a result: {line}"
    return line[:found].strip(), line[found + 4 :].strip()


QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def unquote(text: str) -> bytes:
    def one(match: re.Match[bytes]) -> bytes:
        return bytes([int(match[1], 16)]) if match[1] else match[2]

    return re.sub(rb"\\(?:x([0-9a-f]{2})|(.))", one, text.encode())


def words_of(event: str) -> tuple[list[Any], bool]:
    """Returns the words, as text, bytes or remembered values, and whether one of them is a time."""
    words: list[Any] = []
    has_times = False
    for quoted, word in re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', event):
        if not word:
            raw = unquote(quoted)
            words.append(raw.decode() if raw.isascii() and raw.decode().isprintable() else raw)
        elif re.fullmatch(r"t[+-]\d+", word):
            has_times = True
            words.append(str(moment(word)))
        else:
            words.append(Kept(word[1:]) if NAMED.fullmatch(word) else word)
    return words, has_times


class Reader:
    """Parser of an expected result."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.rest = text
        self.names_times = False

    def whole(self) -> tuple[Any, bool]:
        if NAMED.fullmatch(self.text):
            return Kept(self.text[1:]), False
        pattern = self.pattern()
        assert not self.skip(), f"unexpected: {self.rest}"
        return pattern, self.names_times

    def skip(self) -> str:
        self.rest = self.rest.lstrip(" ,")
        return self.rest

    def eat(self, text: str) -> bool:
        self.skip()
        if self.rest.startswith(text):
            self.rest = self.rest[len(text) :]
            return True
        return False

    def bare(self) -> str:
        self.skip()
        match = re.match(r'[^\s,\[\]{}:"]+', self.rest)
        assert match, f"a result is missing: {self.rest}"
        self.rest = self.rest[match.end() :]
        return match[0]

    def quoted(self) -> bytes | None:
        match = QUOTED.match(self.skip())
        if not match:
            return None
        self.rest = self.rest[match.end() :]
        return unquote(match[1])

    def pattern(self) -> Any:
        if self.eat("["):
            return self.items()
        if self.eat("{"):
            return self.entries()
        if self.eat("!"):
            code = self.bare()
            return Error(code, (self.quoted() or b"").decode())
        raw = self.quoted()
        if raw is not None:
            return raw
        word = self.bare()
        if re.fullmatch(r"t[+-]\d+", word):
            self.names_times = True
            return moment(word)
        if re.fullmatch(r"-?\d+", word):
            return int(word)
        return {"_": Any_(), "nil": None}.get(word, word.encode()) if word in ("_", "nil") else word.encode()

    def items(self) -> Items:
        found: list[Any] = []
        while not self.eat("]"):
            if self.eat("..."):
                assert self.eat("]")
                return Items(found, True)
            found.append(self.pattern())
        return Items(found, False)

    def entries(self) -> Entries:
        found: list[tuple[str, Any]] = []
        while not self.eat("}"):
            if self.eat("..."):
                assert self.eat("}")
                return Entries(found, True)
            quoted = self.quoted()
            key = quoted.decode() if quoted is not None else self.bare()
            assert self.eat(":"), f"a colon is missing: {self.rest}"
            found.append((key, self.pattern()))
        return Entries(found, False)


def raw_of(pattern: Any) -> Any:
    """Returns the reply that is expected, as a connection returns it. Raises a LookupError if a part of it is open."""
    if isinstance(pattern, (Any_, Error)) or (isinstance(pattern, (Items, Entries)) and pattern.is_open):
        raise LookupError
    if isinstance(pattern, Kept):
        return pattern.name.encode()
    if isinstance(pattern, Items):
        return [raw_of(entry) for entry in pattern.entries]
    if isinstance(pattern, Entries):
        return {key.encode(): raw_of(entry) for key, entry in pattern.entries}
    return pattern


def octets(value: object) -> object:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value


def matches(pattern: Any, value: Any, kept: dict[str, Any]) -> bool:
    """Reports whether a reply, as a connection returns it, matches the expected one."""
    if isinstance(pattern, Any_):
        return True
    if isinstance(pattern, Kept):
        return bool(kept.setdefault(pattern.name, octets(value)) == octets(value))
    if isinstance(pattern, int):
        return not isinstance(value, (list, Mapping)) and value is not None and str_of(value) == str(pattern)
    if isinstance(pattern, Items):
        if not isinstance(value, (list, tuple)):
            return False
        enough = len(value) == len(pattern.entries) or (pattern.is_open and len(value) > len(pattern.entries))
        return enough and all(matches(one, other, kept) for one, other in zip(pattern.entries, value, strict=False))
    if isinstance(pattern, Entries):
        if not isinstance(value, Mapping):
            return False
        found = {str_of(key): entry for key, entry in value.items()}
        if not pattern.is_open and list(found) != [key for key, _ in pattern.entries]:
            return False
        return all(key in found and matches(one, found[key], kept) for key, one in pattern.entries)
    return bool(pattern == octets(value))


def str_of(value: object) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
