"""Spans of OpenTelemetry, where its API is installed: one for each command, and one around a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._command import Command
from ._errors import Denied

try:
    from opentelemetry import trace
    from opentelemetry.trace import Status, StatusCode
except ImportError:  # The extra `otel` brings it.
    _is_there = False
else:
    _is_there = True


@contextmanager
def of_command(command: Command[Any]) -> Iterator[None]:
    account = command.words[1] if len(command.words) > 1 else None
    with span(command.name, account if isinstance(account, str) else None, operation=command.name):
        yield


@contextmanager
def span(name: str, account: str | None, *, operation: str, session: str | None = None) -> Iterator[None]:
    """A span that is current meanwhile. Amounts and what a session carries are not in it."""
    if not _is_there:
        yield
        return
    attributes = {"db.system.name": "scurry", "db.operation.name": operation}
    if account is not None:
        attributes["scurry.account"] = account
    if session is not None:
        attributes["scurry.session"] = session
    # A tracer is looked up each time: its provider may be set after this module was imported.
    tracer = trace.get_tracer("scurry_client")
    with tracer.start_as_current_span(
        name, kind=trace.SpanKind.CLIENT, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield
        except Denied as denial:
            # It is an answer: nothing has failed.
            current.set_attribute("scurry.denial", denial.code)
            if denial.reason is not None:
                current.set_attribute("scurry.denial.reason", denial.reason)
            raise
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(Status(StatusCode.ERROR, str(error)))
            raise
