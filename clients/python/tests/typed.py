"""Converts a script's words to the typed command, and the typed reply back to the raw one, without loss."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from scenarios import octets, str_of

import generate
from scurry_client import Command, Event, commands
from scurry_client import _commands as generated
from scurry_client._read import anything, pairs

SPECS = {spec["name"]: spec for spec in json.loads(generate.TABLE.read_text())["commands"]}


class Untyped(Exception):
    """A typed call cannot produce these words, such as those of some refusals."""


def command(words: list[Any]) -> tuple[Command[Any], bool]:
    """Returns the command of these words, and whether its typed function built it."""
    try:
        made = typed(words)
    except (Untyped, IndexError, ValueError):
        return Command(tuple(words), anything, repeatable=False, only_reads=True), False
    return made, True


def typed(words: list[Any]) -> Command[Any]:
    name = str(words[0]).upper()
    if name not in SPECS:
        raise Untyped
    function = generate.METHODS.get(name, name.removeprefix("SCUR.").lower().replace(".", "_"))
    if name == "SCUR.CHAIN":
        made = commands.chain(*links(words[1:]))
    else:
        made = getattr(commands, function)(**arguments(name, words[1:]))
    if canonical(made.words) != canonical(words):
        raise Untyped
    return made


def canonical(words: Any) -> list[bytes]:
    said = [bytes(octets(str(word) if isinstance(word, int) else word)).upper() for word in words]  # type: ignore[call-overload]
    for at, word in enumerate(said[:-1]):
        if word in (b"VALIDITY", b"TCC") and (found := DURATION.fullmatch(said[at + 1].decode("latin-1"))):
            said[at + 1] = b"%d" % milliseconds(found)
    return sorted(said)


def links(words: list[Any]) -> list[Command[Any]]:
    found = []
    at = 0
    while at < len(words):
        account, count = words[at], integer(words[at + 1])
        name, *rest = words[at + 2 : at + 2 + count]
        found.append(typed(["SCUR." + str(name).upper().removeprefix("SCUR."), account, *rest]))
        at += 2 + count
    return found


DURATION = re.compile(r"(0|-?[1-9]\d*)(ms|s|m|h)?", re.IGNORECASE | re.ASCII)


def milliseconds(found: re.Match[str]) -> int:
    return int(found[1]) * {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}[(found[2] or "ms").lower()]


def duration(word: Any) -> int:
    found = DURATION.fullmatch(word) if isinstance(word, str) else None
    # The server refuses a short duration without a unit; a typed call always gives the unit.
    if found is None or (found[2] is None and 1 <= milliseconds(found) < 1_000):
        raise Untyped
    return milliseconds(found)


def integer(word: Any) -> int:
    if not isinstance(word, str) or not re.fullmatch(r"0|-?[1-9]\d*", word):
        raise Untyped
    return int(word)


def value_of(argument: generate.Argument, word: Any) -> Any:
    kinds = argument.type
    if argument.word == "duration":
        return duration(word)
    if kinds == "int":
        return integer(word)
    if kinds.startswith("int | Literal"):
        return str(word).lower() if str(word).lower() in argument.choices else integer(word)
    if isinstance(word, bytes) and "bytes" not in kinds:
        raise Untyped
    return word


def arguments(name: str, words: list[Any]) -> dict[str, Any]:
    grammar = generate.grammar_of(SPECS[name])
    keywords = {argument.keyword for argument in grammar.arguments if argument.keyword}
    keywords |= {rows.keyword for rows in grammar.rows}
    found: dict[str, Any] = {}
    rest = list(words)
    for argument in grammar.arguments:
        if argument.keyword is None and rest and (argument.required or str(rest[0]).upper() not in keywords):
            found[argument.name] = value_of(argument, rest.pop(0))
        elif argument.keyword is None and argument.required:
            raise Untyped
    lists: dict[str, list[Any]] = {rows.name: [] for rows in grammar.rows}
    while rest:
        word = str(rest.pop(0)).upper()
        rows = next((rows for rows in grammar.rows if rows.keyword == word), None)
        if rows is None:
            option(grammar.arguments, word, rest, found)
        else:
            lists[rows.name].append(row(name, rows, rest))
    return found | {key: entries for key, entries in lists.items() if entries}


def option(known: list[generate.Argument], word: str, rest: list[Any], found: dict[str, Any]) -> None:
    argument = next((argument for argument in known if argument.keyword == word), None)
    if argument is None or argument.name in found:
        raise Untyped
    found[argument.name] = True if argument.type == "bool" else value_of(argument, rest.pop(0))


def row(name: str, rows: generate.Rows, rest: list[Any]) -> Any:
    found: dict[str, Any] = {}
    inner = {argument.keyword for argument in rows.arguments if argument.keyword}
    for argument in rows.arguments:
        if argument.keyword is None:
            found[argument.name] = value_of(argument, rest.pop(0))
    while rest and str(rest[0]).upper() in inner:
        option(rows.arguments, str(rest.pop(0)).upper(), rest, found)
    try:
        return getattr(generated, generate.class_of(f"{name} {rows.keyword}"))(**found)
    except TypeError:
        raise Untyped from None


def is_same(reply: object, raw: object) -> bool:
    """Reports whether a typed reply holds all of the raw reply and nothing else."""
    if isinstance(reply, Event):
        assert isinstance(raw, list)
        return reply.id == str_of(raw[0]) and is_same(reply.fields, pairs(raw[1]))
    if dataclasses.is_dataclass(reply):
        names = [part.name for part in dataclasses.fields(reply)]
        values = [getattr(reply, name) for name in names]
        if isinstance(raw, Mapping):
            return [str_of(key) for key in raw] == names and all(map(is_same, values, raw.values()))
        if not isinstance(raw, (list, tuple)):
            return any(is_same(value, raw) for value in values)
        return all(map(is_same, values, raw)) and values[len(raw) :] == [None] * (len(values) - len(raw))
    if isinstance(reply, Mapping):
        assert isinstance(raw, Mapping)
        return reply.keys() == raw.keys() and all(is_same(value, raw[key]) for key, value in reply.items())
    if isinstance(reply, (tuple, list)):
        return isinstance(raw, (list, tuple)) and len(reply) == len(raw) and all(map(is_same, reply, raw))
    if isinstance(reply, bool):
        return raw == int(reply)
    if isinstance(reply, int):
        return str(reply) == str_of(raw)
    return octets(reply) == octets(raw)
