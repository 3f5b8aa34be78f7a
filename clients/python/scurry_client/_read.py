"""Readers of replies as redis-py or valkey-py returns them, in RESP2 or RESP3, decoded or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

T = TypeVar("T")

FieldValue = str | int | None


def integer(raw: object) -> int:
    """Reads an integer. RESP2 sends a total beyond 64 bits as its digits."""
    if isinstance(raw, int):
        return int(raw)
    if isinstance(raw, (bytes, str)):
        return int(raw)
    raise TypeError(f"an integer was expected, not {raw!r}")


def flag(raw: object) -> bool:
    return integer(raw) != 0


def text(raw: object) -> str:
    if isinstance(raw, bytes):
        return raw.decode("utf-8", "surrogateescape")
    if isinstance(raw, str):
        return raw
    raise TypeError(f"text was expected, not {raw!r}")


def octets(raw: object) -> bytes:
    if isinstance(raw, bytes):
        return raw
    if isinstance(raw, str):
        return raw.encode("utf-8", "surrogateescape")
    raise TypeError(f"bytes were expected, not {raw!r}")


def item_key(raw: object) -> str | int:
    """Reads the key of an item: a number when it consists of digits."""
    return int(raw) if isinstance(raw, int) else text(raw)


def nullable(read: Callable[[object], T]) -> Callable[[object], T | None]:
    return lambda raw: None if raw is None else read(raw)


def array(raw: object) -> list[object]:
    if isinstance(raw, (list, tuple)):
        return list(raw)
    raise TypeError(f"an array was expected, not {raw!r}")


def row(raw: object, least: int, most: int) -> list[object]:
    """Reads an array of a known length; missing elements at its end become None."""
    found = array(raw)
    if not least <= len(found) <= most:
        raise TypeError(f"{least} to {most} elements were expected, not {raw!r}")
    return found + [None] * (most - len(found))


def rows(read: Callable[[object], T]) -> Callable[[object], tuple[T, ...]]:
    return lambda raw: tuple(read(element) for element in array(raw))


def pairs(raw: object) -> dict[str, object]:
    """Reads a map, which is a flat array in RESP2."""
    if isinstance(raw, Mapping):
        entries: Iterable[tuple[object, object]] = cast("Mapping[object, object]", raw).items()
    else:
        flat = array(raw)
        entries = zip(flat[::2], flat[1::2], strict=True)
    return {text(key): value for key, value in entries}


def field_values(raw: object) -> dict[str, FieldValue]:
    """Reads the fields of an event: numbers and words."""
    return {key: value if value is None or isinstance(value, int) else text(value) for key, value in pairs(raw).items()}


def anything(raw: object) -> object:
    """Returns a reply of unknown shape as it is, with bytes decoded where they are text."""
    if isinstance(raw, bytes):
        return raw
    if isinstance(raw, Mapping):
        return {anything(key): anything(value) for key, value in raw.items()}
    if isinstance(raw, (list, tuple)):
        return [anything(element) for element in raw]
    return raw
