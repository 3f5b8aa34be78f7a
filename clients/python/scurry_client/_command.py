"""A command as a value: its words, the reader of its reply, and whether it may be sent again unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Word = str | int | bytes
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Command(Generic[R]):
    """One command. The functions of `scurry_client.commands` create commands, and `Store.run` sends them.

    The words never change, so the server recognizes a repeated command and returns its stored answer.
    """

    words: tuple[Word, ...]
    read: Callable[[object], R]
    repeatable: bool
    """Whether sending it twice has the effect of once: it only reads, or has an id or a request number."""
    only_reads: bool = False
    """Whether it changes nothing. A lost answer then leaves no doubt about its effect, and a denial is returned instead
    of raised: for a question (CHECK) it is the requested answer."""

    @property
    def name(self) -> str:
        return str(self.words[0])
