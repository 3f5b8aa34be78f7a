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
    # By name, so that no kind of reply that has it is left out.
    cause = getattr(denied, "cause", None)
    if isinstance(denied, Answer):
        first = next((found for found in denied.items if found.code in DENIALS), None)
        if first is not None:
            item, cause = first.key, first.cause
    return Denied(code, cause, reply, item=item, account=account, allowed_at=_allowed_at(reply))


def _allowed_at(reply: object) -> int | None:
    """Returns when the limits allow all that they denied; None if time alone does not help a part of it."""
    parts: list[Any] = []
    if isinstance(reply, ChainAnswer):
        # CHAIN_DENIED is the code of commands that others denied.
        parts = [link for link in reply.replies if link.code in DENIALS and link.code != "CHAIN_DENIED"]
    elif isinstance(reply, Answer):
        parts = [item for item in reply.items if item.code in DENIALS]
    if not parts:
        return getattr(reply, "allowed_at", None)
    times = [_allowed_at(part) for part in parts]
    known = [time for time in times if time is not None]
    return max(known) if len(known) == len(times) else None


def _account_of_link(command: Command[Any], number: int) -> str:
    """Returns the account of the n-th command of a chain. A command is its account, its number of words, and the
    words."""
    at = 1
    for _ in range(number - 1):
        at += 2 + int(command.words[at + 1])
    return str(command.words[at])
