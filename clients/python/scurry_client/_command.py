"""A command as a value: its words, how its reply is read, and whether it may be sent again as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Word = str | int | bytes
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Command(Generic[R]):
    """One command. The functions of `scurry_client.commands` make them; `Store.run` sends them.

    The words do not change, so a command that is sent again is a repetition to the server, which answers it
    with what it has stored.
    """

    words: tuple[Word, ...]
    read: Callable[[object], R]
    repeatable: bool
    """Whether a repetition does nothing twice: it reads, or it has an id or a request number."""
    only_reads: bool = False
    """Whether it changes nothing. So a lost answer leaves no doubt about what was done, and a denial is returned and
    not raised: that of a question (CHECK) is what was asked for."""

    @property
    def name(self) -> str:
        return str(self.words[0])
