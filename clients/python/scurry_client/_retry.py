"""When a command is sent again: the same words, until an answer comes or patience ends.

A library tells by its exceptions how a command failed. redis-py and valkey-py name these alike, so they are told
apart by name, and neither package has to be there.
"""

from __future__ import annotations

import random
import re
import socket
import time
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ._command import Command
from ._commands import REFUSALS
from ._errors import OutcomeUnknown, ScurryError, ServerError, Unreachable


@dataclass(frozen=True, slots=True)
class Retry:
    """How long and how often, in seconds.

    Keep `patience` well below the time for which the server remembers what it has answered (240 s after a session
    has ended, unless configured): a repetition that comes later than that would be a new request.
    """

    patience: float = 20.0
    """From the first attempt to the last."""
    pause: float = 0.02
    """Before the second attempt; it doubles from one to the next."""
    pause_max: float = 0.5


class Failure(Enum):
    ANSWERED = auto()
    """The server has answered with an error."""
    NOT_DONE = auto()
    """The command did not reach a server that could carry it out."""
    LOST = auto()
    """The connection ended before the answer: not known whether it was done."""
    FOREIGN = auto()
    """Not an error of the connection: a defect of the program, or an interruption."""


# Nothing was done: the server is loading, follows another, or knows nobody who leads.
_NOT_DONE = {"BusyLoadingError", "ReadOnlyError", "ClusterDownError", "TryAgainError", "MasterDownError"}
# The connection to a server was not made.
_NOT_SENT = {"MaxConnectionsError", "MasterNotFoundError"}
_LOST = {"ConnectionError", "TimeoutError", "RedisClusterException", "ValkeyClusterException"}


def failure_of(error: BaseException) -> Failure:
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & (_NOT_DONE | _NOT_SENT):
        return Failure.NOT_DONE
    if "ResponseError" in names or "AuthenticationError" in names:
        return Failure.ANSWERED
    if names & _LOST:
        return Failure.NOT_DONE if _was_not_connected(error) else Failure.LOST
    return Failure.FOREIGN


def _was_not_connected(error: BaseException | None) -> bool:
    """Whether it began with a connection that was not made: these two come from nowhere else."""
    while error is not None:
        if isinstance(error, (ConnectionRefusedError, socket.gaierror)):
            return True
        error = error.__cause__ or error.__context__
    return False


_REFUSAL = re.compile(r"([A-Z_]+) \d+ (.*)", re.DOTALL)


def server_error(error: BaseException) -> ScurryError:
    """The error of this package for an error reply, `-NAME number why`."""
    text = str(error)
    found = _REFUSAL.fullmatch(text)
    kind = REFUSALS.get(found[1]) if found else None
    return kind(found[2]) if kind and found else ServerError(text)


class Attempts:
    """The attempts at one command."""

    def __init__(self, command: Command[Any], retry: Retry) -> None:
        self.command = command
        self.retry = retry
        self.end = time.monotonic() + retry.patience
        self.pause = retry.pause
        self.is_unknown = False

    def failed(self, error: Exception) -> float:
        """How long to wait before the same words are sent again; raises where they are not."""
        failure = failure_of(error)
        if failure is Failure.FOREIGN:
            raise error
        if failure is Failure.ANSWERED:
            raise server_error(error) from error
        self.is_unknown = self.is_unknown or failure is Failure.LOST
        is_over = time.monotonic() + self.pause > self.end
        if is_over or (self.is_unknown and not self.command.repeatable):
            kind = OutcomeUnknown if self.is_unknown else Unreachable
            raise kind(self.command, error) from error
        pause = self.pause * random.uniform(0.5, 1.0)
        self.pause = min(self.pause * 2, self.retry.pause_max)
        return pause
