"""Turns a reply into a value, or raises a denial."""

from __future__ import annotations

from typing import Any, TypeVar

from ._command import Command
from ._commands import DENIALS, Answer, ChainAnswer
from ._errors import Denied, UnexpectedReply

R = TypeVar("R")


def answer(command: Command[R], raw: object) -> R:
    """Returns the reply as the command's type; raises `Denied` when it is a denial."""
    try:
        reply = command.read(raw)
    except (KeyError, TypeError, ValueError) as error:
        raise UnexpectedReply(f"{command.name}: {error!r} in {raw!r}") from error
    code = getattr(reply, "code", None)
    if code in DENIALS and not command.only_reads:
        raise denial(command, reply)
    return reply


def denial(command: Command[Any], reply: object) -> Denied:
    code = str(getattr(reply, "code", ""))
    account = str(command.words[1])
    denied = reply
    if isinstance(reply, ChainAnswer):
        account = _account_of_link(command, reply.denied)
        denied = reply.replies[reply.denied - 1] if reply.denied else reply
    item = None
    # By name, so that no kind of reply that has them is left out.
    cause, allowed_at = getattr(denied, "cause", None), getattr(denied, "allowed_at", None)
    if isinstance(denied, Answer):
        first = next((found for found in denied.items if found.code in DENIALS), None)
        if first is not None:
            item, cause, allowed_at = first.key, first.cause, _latest(denied)
    return Denied(code, cause, reply, item=item, account=account, allowed_at=allowed_at)


def _latest(denied: Answer) -> int | None:
    """Returns when all items that were denied would be allowed; None if time alone does not help one of them."""
    times = [found.allowed_at for found in denied.items if found.code in DENIALS]
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


def _account_of_link(command: Command[Any], number: int) -> str:
    """Returns the account of the n-th command of a chain. A command is its account, its number of words, and the
    words."""
    at = 1
    for _ in range(number - 1):
        at += 2 + int(command.words[at + 1])
    return str(command.words[at])
