"""The generated files match the generator's output, and the generator handles new commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import generate
from scurry_client import _commands, commands


@pytest.mark.parametrize("name", ["_commands.py", "_methods.py"])
def test_the_committed_file_is_what_the_generator_writes(name: str) -> None:
    table = json.loads(generate.TABLE.read_text())
    written = (generate.PACKAGE / name).read_text()
    assert generate.generate(table)[name] == written, "run clients/python/generate.py"


def test_every_command_of_the_table_has_a_function() -> None:
    table = json.loads(generate.TABLE.read_text())
    for spec in table["commands"]:
        name = generate.METHODS.get(spec["name"], spec["name"].removeprefix("SCUR.").lower().replace(".", "_"))
        assert callable(getattr(commands, name)), spec["name"]
    rejects = [code["name"] for code in table["codes"] if code["kind"] == "reject"]
    assert sorted(_commands.REFUSALS) == sorted(rejects)


def test_a_command_of_tomorrow_reaches_the_client(tmp_path: Path) -> None:
    spec = {
        "name": "SCUR.MERGE",
        "role": "provision",
        "summary": "Merges two.",
        "grammar": "account txn other [KEEP n] [INTO ms|none] [FORCE] [PART unit amount [LEAST n]]...",
        "reply": "[code, replayed, version, merged]\n"
        "merged: array of [unit, amount, closed_at] (closed_at nil when open)",
        "codes": ["INVALID"],
    }
    table = json.loads(generate.TABLE.read_text())
    table["commands"].append(spec)
    text = generate.generate(table)["_commands.py"]
    assert "def merge(" in text
    assert "class MergePart:" in text
    assert "    least: int | None = None\n" in text
    assert "class MergeMerged:\n    unit: str\n    amount: int\n    closed_at: str | None\n" in text
    assert 'into_ms: int | Literal["none"] | None = None' in text


def test_words_are_in_the_order_of_the_grammar() -> None:
    made = commands.create(
        "alice",
        txn="t1",
        identities=[commands.NewIdentity("imsi", "1")],
        buckets=[commands.NewBucket("main", "cent", 5, floor=-1, period="day", allowance=7)],
    )
    words = "SCUR.CREATE alice TXN t1 IDENTITY imsi 1 BUCKET main cent 5 FLOOR -1 PERIOD day AMOUNT 7"
    assert " ".join(map(str, made.words)) == words
    made_limit = commands.limit("alice", "l1", "cap", unit="cent", item=7, amount=5)
    assert " ".join(map(str, made_limit.words)) == "SCUR.LIMIT alice l1 cap UNIT cent ITEM 7 AMOUNT 5"
    chain = commands.chain(commands.debit("a", "d", "cent", 1), commands.release("b", "s"))
    assert " ".join(map(str, chain.words)) == "SCUR.CHAIN a 4 DEBIT d cent 1 b 2 RELEASE s"


def test_what_may_be_repeated_is_told_by_ids() -> None:
    assert commands.debit("a", "t", "cent", 1).repeatable
    assert commands.update("a", "s", 1).repeatable
    assert commands.get("a").repeatable
    assert commands.create("a", txn="t").repeatable
    assert not commands.create("a").repeatable
    assert not commands.delete("a").repeatable
    assert commands.entity_put("e", "v", version=1).repeatable
    assert not commands.entity_put("e", "v").repeatable
