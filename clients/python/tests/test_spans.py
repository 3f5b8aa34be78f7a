"""Spans where OpenTelemetry is installed, and no effect where it is not."""

from __future__ import annotations

import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from server import REPOSITORY

from scurry_client import Denied, NewBucket, Store, UnknownAccount


@pytest.fixture(scope="module")
def provider() -> TracerProvider:
    # Only the first provider that is set takes effect.
    provider = TracerProvider()
    trace.set_tracer_provider(provider)
    return provider


@pytest.fixture
def exporter(provider: TracerProvider) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter


def test_a_session_has_a_span_with_its_commands_in_it(store: Store, exporter: InMemorySpanExporter) -> None:
    store.create("alice", buckets=[NewBucket("main", "cent", 100)])
    with store.session("alice", unit="cent", hold=10, id="s1") as session:
        session.use(1)
    with pytest.raises(UnknownAccount):
        store.get("nobody")
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert list(spans) == ["SCUR.CREATE", "SCUR.RESERVE", "SCUR.TERMINATE", "scurry session", "SCUR.GET"]
    outer = spans["scurry session"]
    assert outer.attributes is not None and outer.attributes["scurry.session"] == "s1"
    for name in ("SCUR.RESERVE", "SCUR.TERMINATE"):
        parent = spans[name].parent
        assert parent is not None and parent.span_id == outer.context.span_id
    failed = spans["SCUR.GET"]
    assert failed.attributes is not None and failed.attributes["error.type"] == "UnknownAccount"
    assert not failed.status.is_ok


def test_a_denial_is_an_answer_and_no_error(store: Store, exporter: InMemorySpanExporter) -> None:
    store.create("poor", buckets=[NewBucket("main", "cent", 5)])
    with pytest.raises(Denied), store.session("poor", unit="cent", hold=10, id="s1"):
        pass
    spans = {span.name: span for span in exporter.get_finished_spans()}
    for name in ("SCUR.RESERVE", "scurry session"):
        denied = spans[name]
        assert denied.status.status_code is StatusCode.UNSET, name
        assert denied.attributes is not None and "error.type" not in denied.attributes
        assert denied.attributes["scurry.denial"] == "CREDIT_LIMIT_REACHED"
        assert denied.attributes["scurry.denial.reason"] == "balance"


def test_the_client_works_without_opentelemetry() -> None:
    program = """
import sys
sys.modules["opentelemetry"] = None
from scurry_client import Store, commands
class Echo:
    def execute_command(self, *words, **options):
        return [b"OK", 0, 2, 5]
assert Store(Echo()).run(commands.debit("a", "t", "cent", 5)).amount == 5
"""
    directory = REPOSITORY / "clients/python"
    done = subprocess.run([sys.executable, "-c", program], cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
