"""OpenTelemetry spans, when its API is installed: one for each command, and one around a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._command import Command
from ._errors import Denied

try:
    from opentelemetry import trace
    from opentelemetry.trace import Status, StatusCode
except ImportError:  # The extra `otel` installs it.
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
    """Opens a span and makes it the current one. It contains no amounts and no session data."""
    if not _is_there:
        yield
        return
    attributes = {"db.system.name": "scurry", "db.operation.name": operation}
    if account is not None:
        attributes["scurry.account"] = account
    if session is not None:
        attributes["scurry.session"] = session
    # The tracer is looked up each time, because its provider may be set after this module was imported.
    tracer = trace.get_tracer("scurry_client")
    with tracer.start_as_current_span(
        name, kind=trace.SpanKind.CLIENT, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield
        except Denied as denial:
            # A denial is an answer, so the span does not count as failed.
            current.set_attribute("scurry.denial", denial.code)
            if denial.reason is not None:
                current.set_attribute("scurry.denial.reason", denial.reason)
            raise
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(Status(StatusCode.ERROR, str(error)))
            raise
