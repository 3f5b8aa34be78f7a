"""Exception types. The refusals of the command table are in `_commands.py`, which is generated."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ._command import Command


class ScurryError(Exception):
    """Base class of all errors of this package."""


class Denied(ScurryError):
    """Not enough credit, a limit, or an account that may not pay. The answer is stored: a repetition returns it again.

    `reason` is `balance`, `no_bucket`, `bucket`, `limit`, `items`, `chain` or `status`, or None when the server did
    not report it; `limit` is the id of the limit that was reached, `bucket` that of the bucket that has less; `allowed_at` is the
    time, in ms since 1970, at which the limits would allow all that was denied if nothing else changes, or None where
    waiting does not help; `item` is the first item that was denied; `reply` is the answer.
    """

    def __init__(
        self,
        code: str,
        cause: str | None,
        reply: object,
        *,
        item: str | int | None = None,
        account: str | None = None,
        allowed_at: int | None = None,
    ) -> None:
        reason, _, named = (cause or "").partition(" ")
        self.code = code
        self.reason = reason or None
        self.limit = named if reason == "limit" else None
        self.bucket = named if reason == "bucket" else None
        self.allowed_at = allowed_at
        self.item = item
        self.account = account
        self.reply = reply
        whose = f" on {account}" if account else ""
        what = f" of item {item}" if item is not None else ""
        super().__init__(f"{code}{what}{whose}" + (f": {cause}" if cause else ""))


class Refused(ScurryError):
    """The server refused a command; nothing was changed or stored."""

    code: ClassVar[str] = ""
    number: ClassVar[int] = 0

    def __init__(self, message: str) -> None:
        super().__init__(f"{self.code}: {message}")
        self.message = message


_BOUND = re.compile(r"(?P<limit>[a-z_]+) (?P<value>\d+)(?:, the first goes in (?P<ms>\d+) ms)?")


class BusyBase(Refused):
    """The parts of a BUSY error: which bound, its value, and when the first entry that counts towards it expires."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        found = _BOUND.match(message)
        self.limit: str | None = found["limit"] if found else None
        self.value: int | None = int(found["value"]) if found else None
        self.retry_after: float | None = int(found["ms"]) / 1000 if found and found["ms"] else None
        """Seconds; None when no entry expires by itself."""


def _with_cure(why: BaseException, cure: str | None) -> str:
    return f"{why}: {cure}" if cure else str(why)


class OutcomeUnknown(ScurryError):
    """The connection was lost, and it is not known whether the command was executed once or not at all.

    `command` holds the words that were sent. `store.run(error.command)` sends the same words again, which is safe when
    `command.repeatable` is true.
    """

    def __init__(self, command: Command[Any], why: BaseException, cure: str | None = None) -> None:
        super().__init__(f"{command.name}: not known whether it was done: {_with_cure(why, cure)}")
        self.command = command


class Unreachable(ScurryError):
    """The server was not reached, could not serve, or did not answer a read: nothing was executed."""

    def __init__(self, command: Command[Any], why: BaseException, cure: str | None = None) -> None:
        super().__init__(f"{command.name}: not done: {_with_cure(why, cure)}")
        self.command = command


class ServerError(ScurryError):
    """A protocol error: a wrong type, out of memory, no permission, or a command that the server does not know."""


class UnexpectedReply(ScurryError):
    """The reply does not have the shape that this release's command table gives."""
