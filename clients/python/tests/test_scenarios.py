"""The scenario scripts through the client: each line as the typed command, each reply as its type."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from scenarios import Error, Kept, Line, Script, matches, raw_of, scripts
from server import Server, limits
from typed import command, is_same

from scurry_client import Command, Denied, Refused, ScurryError, ServerError, Store, aio

ALL = scripts()
CLOCKLESS = [script for script in ALL if not script.sets_clock and (not script.doors or "server" in script.doors)]
# Words that no typed call produces: an option with the name of a unit, a prefix that a chain does not need, and an
# option before the amount.
UNTYPED = {
    "SCUR.DEBIT b d1 item 2",
    "SCUR.CHAIN {m}a 4 scur.Debit t7 cent 1",
    "SCUR.REFUND r r2 d1 carry 50",
}


class Recorder:
    """A connection that keeps the last reply."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.raw: Any = None
        # The library converts the replies of plain commands, which the scripts also contain.
        getattr(connection, "response_callbacks", {}).clear()

    def execute_command(self, *words: Any, **options: Any) -> Any:
        self.raw = None
        self.raw = self.connection.execute_command(*words, **options)
        return self.raw

    def close(self) -> None:
        self.connection.close()


class AsyncRecorder(Recorder):
    async def execute_command(self, *words: Any, **options: Any) -> Any:
        self.raw = None
        self.raw = await self.connection.execute_command(*words, **options)
        return self.raw


class Run:
    """A running script: the expectation of each line, independent of the sender."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.kept: dict[str, Any] = {}

    def command(self, line: Line) -> Command[Any]:
        words = [self.kept[word.name] if isinstance(word, Kept) else word for word in line.words]
        return command(words)[0]

    def where(self, line: Line) -> str:
        return f"{self.script.name}:{line.number}: {line.text}"

    def answered(self, line: Line, reply: object, raw: object) -> None:
        assert not isinstance(line.expected, Error), f"{self.where(line)} was not refused: {raw}"
        assert matches(line.expected, raw, self.kept), f"{self.where(line)}\n  came: {raw}"
        assert is_same(reply, raw), f"{self.where(line)}\n  came: {raw}\n  read: {reply}"

    def failed(self, line: Line, error: ScurryError, raw: object) -> None:
        if isinstance(error, Denied):
            self.answered(line, error.reply, raw)
            return
        expected = line.expected
        assert isinstance(expected, Error), f"{self.where(line)}\n  came: {error!r}"
        if isinstance(error, Refused):
            assert error.code == expected.code, f"{self.where(line)}\n  came: {error!r}"
        else:
            # The library removes some first words from its messages, such as ERR.
            assert isinstance(error, ServerError), f"{self.where(line)}\n  came: {error!r}"
        assert expected.part in str(error), f"{self.where(line)}\n  came: {error!r}"


def run(script: Script, store: Store) -> None:
    going = Run(script)
    assert isinstance(store.connection, Recorder)
    for line in script.lines:
        try:
            reply = store.run(going.command(line))
        except ScurryError as error:
            going.failed(line, error, store.connection.raw)
        else:
            going.answered(line, reply, store.connection.raw)


async def run_async(script: Script, store: aio.Store) -> None:
    going = Run(script)
    assert isinstance(store.connection, AsyncRecorder)
    for line in script.lines:
        try:
            reply = await store.run(going.command(line))
        except ScurryError as error:
            going.failed(line, error, store.connection.raw)
        else:
            going.answered(line, reply, store.connection.raw)


def server_for(script: Script, directory: Path) -> Server:
    options = [word for kind in script.unique for word in ("--unique-identities", kind)]
    return Server(*options, *limits(directory, script.limits))


@pytest.mark.parametrize("script", CLOCKLESS, ids=lambda script: script.name)
def test_through_a_store(script: Script, tmp_path: Path) -> None:
    with server_for(script, tmp_path) as server, Store.connect(server.url, protocol=3) as store:
        store.connection = Recorder(store.connection)
        run(script, store)


@pytest.mark.parametrize("script", CLOCKLESS, ids=lambda script: script.name)
def test_through_a_store_that_is_awaited(script: Script, tmp_path: Path) -> None:
    async def main(url: str) -> None:
        async with aio.Store.connect(url, protocol=3) as store:
            connection = store.connection
            store.connection = AsyncRecorder(connection)
            await run_async(script, store)
            await connection.aclose()  # type: ignore[attr-defined]

    with server_for(script, tmp_path) as server:
        asyncio.run(main(server.url))


@pytest.mark.parametrize("script", ALL, ids=lambda script: script.name)
def test_what_is_not_refused_is_said_by_a_typed_call(script: Script) -> None:
    for line in script.lines:
        if not isinstance(line.expected, Error):
            words = ["kept" if isinstance(word, Kept) else word for word in line.words]
            is_ours = str(words[0]).upper().startswith(("SCUR.", "ENTITY."))
            assert command(words)[1] == (is_ours and line.text not in UNTYPED), (
                f"{script.name}:{line.number}: {line.text}"
            )


@pytest.mark.parametrize("script", ALL, ids=lambda script: script.name)
def test_what_a_script_expects_is_read(script: Script) -> None:
    """Reads the replies of scripts that need a clock, too."""
    for line in script.lines:
        words = ["kept" if isinstance(word, Kept) else word for word in line.words]
        made, is_typed = command(words)
        try:
            raw = raw_of(line.expected)
        except LookupError:
            continue
        if is_typed:
            assert is_same(made.read(raw), raw), f"{script.name}:{line.number}: {line.text}"
