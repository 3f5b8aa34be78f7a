"""What can go wrong, as types. The refusals of the command table are in `_commands.py`, which is generated."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ._command import Command


class ScurryError(Exception):
    """Every error of this package."""


class Denied(ScurryError):
    """Not enough credit, a limit, or an account that may not pay. The answer is stored: a repetition gets it again.

    `reason` is `balance`, `no_bucket`, `limit`, `chain` or `status`, and None where the server did not tell;
    `limit` is the id of the limit that is reached; `item` is the first item that was denied; `reply` is the answer.
    """

    def __init__(
        self,
        code: str,
        cause: str | None,
        reply: object,
        *,
        item: str | int | None = None,
        account: str | None = None,
    ) -> None:
        reason, _, limit = (cause or "").partition(" ")
        self.code = code
        self.reason = reason or None
        self.limit = limit or None
        self.item = item
        self.account = account
        self.reply = reply
        whose = f" on {account}" if account else ""
        what = f" of item {item}" if item is not None else ""
        super().__init__(f"{code}{what}{whose}" + (f": {cause}" if cause else ""))


class Refused(ScurryError):
    """The server has refused a command; nothing has changed and nothing was stored."""

    code: ClassVar[str] = ""
    number: ClassVar[int] = 0

    def __init__(self, message: str) -> None:
        super().__init__(f"{self.code}: {message}")
        self.message = message


_BOUND = re.compile(r"(?P<limit>[a-z_]+) (?P<value>\d+)(?:, the first goes in (?P<ms>\d+) ms)?")


class BusyBase(Refused):
    """The parts of a BUSY: which bound, its value, and when the first of what counts to it goes by itself."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        found = _BOUND.match(message)
        self.limit: str | None = found["limit"] if found else None
        self.value: int | None = int(found["value"]) if found else None
        self.retry_after: float | None = int(found["ms"]) / 1000 if found and found["ms"] else None
        """Seconds; None where nothing goes by itself."""


def _with_cure(why: BaseException, cure: str | None) -> str:
    return f"{why}: {cure}" if cure else str(why)


class OutcomeUnknown(ScurryError):
    """The connection was lost and nothing is known of the command: it was carried out once or not at all.

    `command` has the words that were sent. `store.run(error.command)` sends the same again, which does nothing
    twice where `command.repeatable` says so.
    """

    def __init__(self, command: Command[Any], why: BaseException, cure: str | None = None) -> None:
        super().__init__(f"{command.name}: not known whether it was done: {_with_cure(why, cure)}")
        self.command = command


class Unreachable(ScurryError):
    """The server was not reached, could not serve, or did not answer a question: nothing was carried out."""

    def __init__(self, command: Command[Any], why: BaseException, cure: str | None = None) -> None:
        super().__init__(f"{command.name}: not done: {_with_cure(why, cure)}")
        self.command = command


class ServerError(ScurryError):
    """An error of the protocol: a wrong type, no memory, no permission, a command that the server does not know."""


class UnexpectedReply(ScurryError):
    """The reply has not the shape that the command table of this release says."""
