"""When a command is sent again: the same words, until an answer arrives or the time is over.

redis-py and valkey-py report by their exceptions how a command failed, and use the same names for them. They are
recognized by name, so that neither package has to be installed.
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
    """Limits of retries, in seconds.

    Keep `patience` well below the time for which the server remembers its answers (240 s after the end of a session,
    unless configured): a later repetition would be a new request.
    """

    patience: float = 20.0
    """Time from the first attempt to the last."""
    patience_first: float = 3.0
    """The same until a server has answered this store for the first time, so that a wrong address is reported soon."""
    pause: float = 0.02
    """Pause before the second attempt; it doubles with each further one."""
    pause_max: float = 0.5


class Failure(Enum):
    ANSWERED = auto()
    """The server answered with an error."""
    NOT_DONE = auto()
    """The command did not reach a server that could execute it."""
    WRONG_PEER = auto()
    """The peer does not speak the protocol, or one side refuses the other's certificate: the command was not executed,
    and a retry does not help."""
    LOST = auto()
    """The connection ended before the answer: it is not known whether the command was executed."""
    FOREIGN = auto()
    """Not an error of the connection: a defect of the program, or an interruption."""


# The command was not executed: the server is loading, follows another, or knows no leader.
_NOT_DONE = {"BusyLoadingError", "ReadOnlyError", "ClusterDownError", "TryAgainError", "MasterDownError"}
# No connection to a server was made.
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
    """Reports whether the cause is a failed connection: only connecting raises the two exceptions tested first."""
    causes = list(_chain(error))
    if any(isinstance(cause, (ConnectionRefusedError, socket.gaierror)) for cause in causes):
        return True
    return _has_no_handshake(causes)


def _has_no_handshake(causes: list[BaseException]) -> bool:
    """Reports whether TLS failed before a command was sent: the libraries' message then says that they were
    connecting."""
    return any(isinstance(cause, ssl.SSLError) for cause in causes) and any(
        " connecting to " in repr(cause.args) for cause in causes
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yields the error and its causes."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def wrong_peer(error: BaseException) -> str | None:
    """Says why the peer is the wrong one and how to fix it; None when no such reason is known."""
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
    """Returns this package's error for an error reply, `-NAME number why`."""
    text = str(error)
    found = _REFUSAL.fullmatch(text)
    kind = REFUSALS.get(found[1]) if found else None
    return kind(found[2]) if kind and found else ServerError(text)


class Contact:
    """Whether any server has answered a store so far."""

    __slots__ = ("was_made",)

    def __init__(self) -> None:
        self.was_made = False


class Attempts:
    """The attempts to execute one command."""

    def __init__(self, command: Command[Any], retry: Retry, contact: Contact) -> None:
        self.command = command
        self.retry = retry
        self.contact = contact
        patience = retry.patience if contact.was_made else min(retry.patience, retry.patience_first)
        self.end = time.monotonic() + patience
        self.pause = retry.pause
        self.is_unknown = False

    def answered(self) -> None:
        """Records that a server has answered."""
        self.contact.was_made = True

    def failed(self, error: Exception) -> float:
        """Returns how long to wait before the same words are sent again; raises the error when they must not be."""
        failure = failure_of(error)
        if failure is Failure.FOREIGN:
            raise error
        if failure is Failure.WRONG_PEER and self.contact.was_made:
            # The peer was right earlier, so it is not known whether this command was executed.
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
