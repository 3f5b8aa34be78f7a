"""When a command is sent again: the same words, until an answer comes or patience ends.

A library tells by its exceptions how a command failed. redis-py and valkey-py name these alike, so they are told
apart by name, and neither package has to be there.
"""

from __future__ import annotations

import random
import re
import socket
import ssl
import time
from collections.abc import Iterator
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
    patience_first: float = 3.0
    """The same while no server has ever answered this store: a wrong address is told soon."""
    pause: float = 0.02
    """Before the second attempt; it doubles from one to the next."""
    pause_max: float = 0.5


class Failure(Enum):
    ANSWERED = auto()
    """The server has answered with an error."""
    NOT_DONE = auto()
    """The command did not reach a server that could carry it out."""
    WRONG_PEER = auto()
    """What answers there does not speak the protocol, or one side refuses the other's certificate: the command was
    not done, and no repetition helps."""
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
    if wrong_peer(error) is not None:
        return Failure.WRONG_PEER
    if names & (_NOT_DONE | _NOT_SENT):
        return Failure.NOT_DONE
    if "ResponseError" in names or "AuthenticationError" in names:
        return Failure.ANSWERED
    if names & _LOST:
        return Failure.NOT_DONE if _was_not_connected(error) else Failure.LOST
    return Failure.FOREIGN


def _was_not_connected(error: BaseException) -> bool:
    """Whether it began with a connection that was not made: the first two come from nowhere else."""
    causes = list(_chain(error))
    if any(isinstance(cause, (ConnectionRefusedError, socket.gaierror)) for cause in causes):
        return True
    return _has_no_handshake(causes)


def _has_no_handshake(causes: list[BaseException]) -> bool:
    """Whether TLS ended before a command was sent: the libraries say then that they were connecting."""
    return any(isinstance(cause, ssl.SSLError) for cause in causes) and any(
        " connecting to " in repr(cause.args) for cause in causes
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def wrong_peer(error: BaseException) -> str | None:
    """What is wrong about who answers, and the cure; None where nothing is known to be."""
    for cause in _chain(error):
        if isinstance(cause, ssl.SSLError):
            return _refused_handshake(cause)
        if type(cause).__name__ == "InvalidResponse":
            return _other_protocol(repr(cause.args))
    return None


def _refused_handshake(error: ssl.SSLError) -> str | None:
    reason = error.reason or ""
    if reason in ("WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE"):
        return _NO_TLS
    if isinstance(error, ssl.SSLCertVerificationError):
        return "the server's certificate is refused: give ssl_ca_certs, and a name that the certificate has"
    if "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
        return "the server refuses the client's certificate: give ssl_certfile and ssl_keyfile of its --tls-client-ca"
    return None


def _other_protocol(said: str) -> str:
    if "HTTP/" in said:
        return "HTTP is spoken on this port: give the port of --listen"
    return "what answers on this port does not speak RESP: give the port of --listen"


_NO_TLS = "this port does not speak TLS: write redis://, or give the port of --tls-listen"
_REFUSAL = re.compile(r"([A-Z_]+) \d+ (.*)", re.DOTALL)


def server_error(error: BaseException) -> ScurryError:
    """The error of this package for an error reply, `-NAME number why`."""
    text = str(error)
    found = _REFUSAL.fullmatch(text)
    kind = REFUSALS.get(found[1]) if found else None
    return kind(found[2]) if kind and found else ServerError(text)


class Contact:
    """Whether a server has ever answered a store."""

    __slots__ = ("was_made",)

    def __init__(self) -> None:
        self.was_made = False


class Attempts:
    """The attempts at one command."""

    def __init__(self, command: Command[Any], retry: Retry, contact: Contact) -> None:
        self.command = command
        self.retry = retry
        self.contact = contact
        patience = retry.patience if contact.was_made else min(retry.patience, retry.patience_first)
        self.end = time.monotonic() + patience
        self.pause = retry.pause
        self.is_unknown = False

    def answered(self) -> None:
        """A server has answered."""
        self.contact.was_made = True

    def failed(self, error: Exception) -> float:
        """How long to wait before the same words are sent again; raises where they are not."""
        failure = failure_of(error)
        if failure is Failure.FOREIGN:
            raise error
        if failure is Failure.WRONG_PEER and self.contact.was_made:
            # It was the right one before: what has become of this command is not known.
            failure = Failure.LOST
        if failure is Failure.ANSWERED:
            self.answered()
            raise server_error(error) from error
        self.is_unknown = self.is_unknown or (failure is Failure.LOST and not self.command.only_reads)
        is_over = failure is Failure.WRONG_PEER or time.monotonic() + self.pause > self.end
        if is_over or (self.is_unknown and not self.command.repeatable):
            kind = OutcomeUnknown if self.is_unknown else Unreachable
            raise kind(self.command, error, self._cure(error)) from error
        pause = self.pause * random.uniform(0.5, 1.0)
        self.pause = min(self.pause * 2, self.retry.pause_max)
        return pause

    def _cure(self, error: Exception) -> str | None:
        if cure := wrong_peer(error):
            return cure
        if self.contact.was_made:
            return None
        if _has_no_handshake(list(_chain(error))):
            return _NO_TLS
        return (
            "no server has answered yet: is one running there, and does this port speak TLS if the URL says so, and "
            "only then?"
        )
