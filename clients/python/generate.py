"""Writes scurry_client/_commands.py and _methods.py from docs/commands.json, which is the server's command table.

    python generate.py          writes the files
    python generate.py --check  fails if a file differs from the one that would be written

This alone brings a new command to the client: the names in its grammar give the types of its arguments, and its reply
is a new class, or a plain value when the table gives no shape.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "docs" / "commands.json"
PACKAGE = HERE / "scurry_client"

# Types of arguments by their names in the grammars; every other name is text.
ARGUMENTS = {
    **dict.fromkeys(["amount", "n", "ms", "duration", "minutes", "request", "v", "s"], "int"),
    **dict.fromkeys(["id", "value", "blob", "image"], "str | bytes"),
    **dict.fromkeys(["key", "cursor"], "str | int"),
}
# Suffixes of options that give the unit of a number.
SUFFIXES = {"ms": "_ms", "duration": "_ms", "minutes": "_minutes", "s": "_s"}

# Reply fields that are not text, by name.
INTEGERS = set(
    """version amount available held floor priority valid_from valid_to rollover owed refills_at value resets_at used
    left burst allowed_at overrun deadline opened active validity tcc last_request granted outstanding from_hold direct released
    uncollected credited refunded consumed expired voided overdrawn in_transit denied expires forget_at kept_from looked
    reached final given_up_at mark""".split()
)
FLAGS = ["replayed", "ok", "applied", "more", "complete"]
# Names whose type depends on the command or the row.
EXCEPTIONS = {
    ("SCUR.GET identities", "value"): "text",
    ("SCUR.GET former_identities", "value"): "text",
    ("SCUR.GET limits", "item"): "item_key",
    ("SCUR.TRANSACTION parts", "item"): "item_key",
    ("SCUR.TOTALS", "accounts"): "integer",
    ("SCUR.TOTALS", "sessions"): "integer",
    ("SCUR.FIND", "accounts"): "rows(text)",
    ("SCUR.SESSION", "overrun"): "text",
    ("SCUR.SESSION", "data"): "octets",
    ("SCUR.CHAIN", "replies"): "rows(chained)",
    ("ENTITY.FIND", "ids"): "rows(octets)",
    ("ENTITY.GET", "value"): "nullable(octets)",
}
# Names of classes, where a name derived from the command would read badly.
CLASSES = {
    "SCUR.CREATE": "Provisioned",
    "SCUR.DELETE": "Deleted",
    "SCUR.TOPUP": "Moved",
    "SCUR.COUNTER": "Counted",
    "SCUR.CHECK": "Checked",
    "SCUR.RESERVE": "Answer",
    "SCUR.CHAIN": "ChainAnswer",
    "SCUR.GET": "Account",
    "SCUR.SESSION": "AccountWithSession",
    "SCUR.AUDIT": "Audit",
    "SCUR.HOLDS": "Holds",
    "SCUR.TRANSACTION": "Transaction",
    "SCUR.TOTALS": "Totals",
    "ENTITY.PUT": "EntityWritten",
    "ENTITY.FIND": "EntitiesFound",
    "SCUR.FIND": "AccountsFound",
    "SCUR.LIST": "AccountsListed",
    "SCUR.WATCH": "Events",
    "SCUR.STATEMENT": "Statement",
    "SCUR.RESERVE items": "ItemAnswer",
    "SCUR.GET identities": "Identity",
    "SCUR.GET former_identities": "FormerIdentity",
    "SCUR.GET buckets": "Bucket",
    "SCUR.GET allowance": "Allowance",
    "SCUR.GET counters": "Counter",
    "SCUR.GET limits": "Limit",
    "SCUR.GET sessions": "OpenSession",
    "SCUR.SESSION session": "SessionDetails",
    "SCUR.SESSION items": "SessionItem",
    "SCUR.AUDIT buckets": "BucketTotals",
    "SCUR.HOLDS buckets": "Balance",
    "SCUR.HOLDS holds": "OpenHold",
    "SCUR.TRANSACTION parts": "DebitPart",
    "SCUR.AUDIT uncollected": "Uncollected",
    "SCUR.TOTALS units": "UnitTotals",
    "SCUR.LIST accounts": "ListedAccount",
    "SCUR.WATCH events": "Event",
    "SCUR.STATEMENT entries": "Event",
    "REQUEST_MISMATCH": "Mismatch",
    # Arguments.
    "SCUR.CREATE IDENTITY": "NewIdentity",
    "SCUR.STATUS IDENTITY": "NewIdentity",
    "SCUR.CREATE BUCKET": "NewBucket",
    "SCUR.DEBIT ITEM": "DebitItem",
    "SCUR.REFUND ITEM": "DebitItem",
    "SCUR.RESERVE ITEM": "ReserveItem",
    "SCUR.UPDATE ITEM": "UpdateItem",
    "SCUR.TERMINATE ITEM": "TerminateItem",
    "SCUR.WATCH EVENT": "EventName",
    "SCUR.WATCH LOW": "Threshold",
}
# Replies that equal another command's, although the table describes them in less detail.
ALIKE = {"SCUR.RELEASE": "SCUR.RESERVE"}
METHODS = {"SCUR.SESSION": "get_session", "SCUR.TRANSACTION": "get_transaction", "SCUR.LIST": "list_accounts"}
# Names of options that stand beside a word of the same name: AMOUNT is an allowance's amount per period.
OPTIONS = {name: {"AMOUNT": "allowance"} for name in ("SCUR.CREATE", "SCUR.TOPUP", "SCUR.BUCKET")}
# Commands without an id that have no further effect when they are sent again.
REPEATABLE = {"SCUR.STATUS", "SCUR.RELEASE", "SCUR.CHAIN"}
# Options that make a command repeatable.
IDS = {"TXN", "VERSION", "IFTXN"}


# ---- Grammars ----------------------------------------------------------------------------------


@dataclass
class Argument:
    """A positional word, or a keyword with at most one word after it."""

    keyword: str | None
    word: str | None
    required: bool
    choices: list[str] = field(default_factory=list)
    renamed: str | None = None

    @property
    def name(self) -> str:
        if self.renamed:
            return self.renamed
        if self.keyword is None:
            name = "status" if self.choices else str(self.word)
        else:
            name = self.keyword + SUFFIXES.get(self.word or "", "")
        name = name.lower().replace("-", "_")
        return name + "_" if keyword.iskeyword(name) else name

    @property
    def type(self) -> str:
        words = [choice for choice in self.choices if choice not in ARGUMENTS]
        kinds = [ARGUMENTS[choice] for choice in self.choices if choice in ARGUMENTS]
        if words:
            kinds.append(f"Literal[{', '.join(quoted(word) for word in words)}]")
        if kinds:
            return " | ".join(kinds)
        return "bool" if self.word is None else ARGUMENTS.get(self.word, "str")


@dataclass
class Rows:
    """A keyword with several words, any number of times: `[BUCKET bucket unit amount [PRIORITY n]]...`."""

    keyword: str
    arguments: list[Argument]

    @property
    def name(self) -> str:
        low = self.keyword.lower()
        return low if low == "low" else low[:-1] + "ies" if low.endswith("y") else low + "s"


@dataclass
class Grammar:
    arguments: list[Argument]
    rows: list[Rows]


def quoted(word: str) -> str:
    return f'"{word}"'


def tokens(text: str) -> list[str]:
    return re.findall(r"\.\.\.|[\[\]()|]|[^\s\[\]()|.]+", text)


class GrammarReader:
    """Flattens a grammar. The server alone checks which words exclude each other."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.grammar = Grammar([], [])

    def read(self) -> Grammar:
        self.sequence(0, len(self.tokens), required=True, into=self.grammar.arguments)
        return self.grammar

    def closing(self, start: int) -> int:
        depth = 0
        for at in range(start, len(self.tokens)):
            depth += self.tokens[at] in "[("
            depth -= self.tokens[at] in "])"
            if depth == 0:
                return at
        raise ValueError(f"no end of a group: {self.tokens}")

    def sequence(self, at: int, end: int, required: bool, into: list[Argument]) -> None:
        alternatives = "|" in self.level(at, end)
        while at < end:
            token = self.tokens[at]
            if token in "[(":
                close = self.closing(at)
                repeated = self.tokens[close + 1 : close + 2] == ["..."]
                if repeated and self.is_keyword(at + 1):
                    self.repeat(at + 1, close)
                elif self.tokens[at + 2 : close] != ["..."]:
                    self.sequence(at + 1, close, required and token == "(", into)
                at = close + 1 + repeated
            elif token in ("|", "..."):
                at += 1
            elif token.isupper():
                at = self.option(at, end, required and not alternatives, into)
            else:
                choices, at = self.choice(at, end)
                only = choices if len(choices) > 1 else []
                self.add(into, Argument(None, token, (required and not alternatives) or bool(only), only))

    def level(self, at: int, end: int) -> list[str]:
        """Returns the bars outside of groups, except those between lower-case words of one choice."""
        depth, found = 0, []
        for i in range(at, end):
            depth += self.tokens[i] in "[("
            depth -= self.tokens[i] in "])"
            if depth == 0 and self.tokens[i] == "|" and not self.within_choice(i):
                found.append("|")
        return found

    def within_choice(self, at: int) -> bool:
        before, behind = self.tokens[at - 1], self.tokens[at + 1]
        if not (before.islower() and behind.islower()):
            return False
        start = self.tokens[at - 2] if at >= 2 else ""
        return start.isupper() or start == "|" or at == 2

    def is_keyword(self, at: int) -> bool:
        return self.tokens[at].isupper()

    def choice(self, at: int, end: int) -> tuple[list[str], int]:
        choices = [self.tokens[at]]
        while at + 2 < end and self.tokens[at + 1] == "|" and self.within_choice(at + 1):
            at += 2
            choices.append(self.tokens[at])
        return choices, at + 1

    def option(self, at: int, end: int, required: bool, into: list[Argument]) -> int:
        keyword_, words, position = self.tokens[at], 0, at + 1
        while position < end and self.tokens[position].islower():
            _, position = self.choice(position, end)
            words += 1
        if words > 1:  # ITEM key unit amount [ITEM ...]
            stop = self.closing(position) if position < end and self.tokens[position] == "[" else position
            self.repeat(at, position)
            return stop + 1 if stop > position else position
        if words == 0:
            self.add(into, Argument(keyword_, None, False))
        else:
            choices, _ = self.choice(at + 1, end)
            only = choices if len(choices) > 1 else []
            self.add(into, Argument(keyword_, self.tokens[at + 1], required, only))
        return position

    def repeat(self, at: int, end: int) -> None:
        arguments: list[Argument] = []
        self.sequence(at + 1, end, required=True, into=arguments)
        self.grammar.rows.append(Rows(self.tokens[at], arguments))

    def add(self, into: list[Argument], argument: Argument) -> None:
        if all((known.keyword, known.name) != (argument.keyword, argument.name) for known in into):
            into.append(argument)


def grammar_of(spec: dict[str, Any]) -> Grammar:
    grammar = GrammarReader(spec["grammar"]).read()
    for arguments in (grammar.arguments, *(rows.arguments for rows in grammar.rows)):
        for argument in arguments:
            argument.renamed = OPTIONS.get(spec["name"], {}).get(argument.keyword or "")
        taken = [argument.name for argument in arguments if argument.keyword is None]
        for argument in arguments:
            if argument.keyword and argument.name in taken:
                argument.renamed = f"{argument.name}_option"
    return grammar


# ---- Replies -----------------------------------------------------------------------------------


@dataclass
class Shape:
    """A reply or a row: a class with fields, sent as an array or a map."""

    name: str
    kind: str
    fields: list[tuple[str, str]]
    """Names with their readers."""
    least: int
    """Number of elements that an array always has."""
    rare: list[str] = field(default_factory=list)
    """Entries of a map that are lists, and left out where they are empty."""


class ReplyReader:
    """Parses the reply in the table: `[code, version]`, `map of: ...`, and rows on separate lines."""

    def __init__(self, known: dict[str, Shape]) -> None:
        self.known = known
        self.names: dict[str, str] = {}

    def reader(self, spec: dict[str, Any]) -> str:
        """Returns the name of the function that reads the reply."""
        name, reply = spec["name"], spec["reply"]
        if name in ALIKE:
            return f"{class_of(ALIKE[name])}.read"
        if reply.startswith("the same map as GET"):
            account = self.known["Account"]
            session = self.session(spec)
            return self.add(Shape(class_of(name), "map", [*account.fields, ("session", session)], 0, account.rare))
        first, *rest = reply.split("\n")
        if first == "OK" or first.startswith("OK "):
            return "text"
        if first.startswith("the account image"):
            return "octets"
        if first.startswith("the value, or nil; with WITHVERSION"):
            return "entity"
        array = re.match(r"\[([a-z_, ]+)\]", first)
        if first.startswith("map of: "):
            names = [re.sub(r" \(.*?\)", "", part) for part in split(first.removeprefix("map of: "))]
            nils = re.findall(r"(\w+) \(nil", first)
            fields = [(part, self.field(spec, part, rest, first, absent=part in nils)) for part in names]
            rare = re.findall(r"(\w+) \(only where there are any\)", first)
            return self.add(Shape(class_of(name), "map", fields, 0, rare))
        if array:
            names = array[1].split(", ")
            least = len(names)
            more = re.search(r"; with [A-Z]+ \[([a-z_, ]+)\]", first)
            if more:
                names += [part for part in more[1].split(", ") if part not in names]
            if ", and cause and allowed_at where" in first:
                names += ["cause", "allowed_at"]
            rest = rest + re.findall(r"\w+ = array of .*", first.replace("], ", "],\n"))
            fields = [(part, self.field(spec, part, rest, first, absent=at >= least)) for at, part in enumerate(names)]
            return self.add(Shape(self.named_by(reply, name), "array", fields, least))
        return "anything"

    def named_by(self, text: str, key: str) -> str:
        """Returns the class of a reply or a row. Equal texts share a class, which is named after the first of them."""
        return self.names.setdefault(text, class_of(key))

    def session(self, spec: dict[str, Any]) -> str:
        _, head, *rest = spec["reply"].split("\n")
        names = split(head.removeprefix("map of: "))
        fields = [(part, self.field(spec, part, rest, head)) for part in names]
        shape = Shape(class_of(f"{spec['name']} session"), "map", fields, 0)
        return self.add(shape)

    def field(self, spec: dict[str, Any], name: str, rest: list[str], first: str, absent: bool = False) -> str:
        reader = EXCEPTIONS.get((spec["name"], name)) or self.of_rows(spec, name, rest) or scalar(name)
        return f"nullable({reader})" if absent and not reader.startswith("nullable") else reader

    def of_rows(self, spec: dict[str, Any], name: str, rest: list[str]) -> str | None:
        for at, line in enumerate(rest):
            found = re.match(rf"{name}(?::| =) array of \[(.*)\]", line)
            if not found:
                continue
            inner = re.match(r"([a-z_, ]+)(?:, \[field, value, \.\.\.\])?\]?", found[1])
            if "[field, value" in line:
                self.add(Shape("Event", "event", [("id", "text"), ("fields", "field_values")], 2))
                return "rows(Event.read)"
            assert inner, line
            parts = found[1].split("]")[0].split(", ")
            nil = " ".join(re.findall(r"\(([^)]*nil[^)]*)\)", line))
            row_name = f"{spec['name']} {name}"
            fields = [(part, EXCEPTIONS.get((row_name, part)) or scalar(part)) for part in parts]
            fields = [
                (part, f"nullable({reader})" if re.search(rf"\b{part}\b.*nil", nil) else reader)
                for part, reader in fields
            ]
            least = len(parts)
            fields += at_the_end(line)
            behind = rest[at + 1 : at + 2]
            more = re.match(r"a bucket with an allowance has one more: \[(.*?)\](.*)", behind[0] if behind else "")
            if more:
                nil = more[2]
                inner_fields = [
                    (part, f"nullable({scalar(part)})" if f"{part} nil" in nil else scalar(part))
                    for part in more[1].split(", ")
                ]
                least_inner = len(inner_fields)
                inner_fields += at_the_end(behind[0])
                shape = Shape(class_of(f"{spec['name']} allowance"), "array", inner_fields, least_inner)
                fields.append(("allowance", f"nullable({self.add(shape)})"))
            shape = Shape(self.named_by(line, row_name), "array", fields, least)
            return f"rows({self.add(shape)})"
        return None

    def add(self, shape: Shape) -> str:
        known = self.known.setdefault(shape.name, shape)
        if known.fields != shape.fields:
            raise SystemExit(f"{shape.name} has two shapes: name one of them in CLASSES\n{known}\n{shape}")
        return f"{shape.name}.read"


def split(text: str) -> list[str]:
    return text.split(", ")


def at_the_end(line: str) -> list[tuple[str, str]]:
    """Returns the elements with which a row ends where it has them: `, and zone and begin where ...`."""
    names = re.search(r", and (\w+(?: and \w+)*) where", line)
    return [(name, f"nullable({scalar(name)})") for name in names[1].split(" and ")] if names else []


def scalar(name: str) -> str:
    if name in ("zone", "begin"):  # Minutes ahead of UTC, or a name; a number, or first-use.
        return "item_key"
    if name in FLAGS:
        return "flag"
    if name == "key":
        return "item_key"
    return "integer" if name in INTEGERS else "text"


READER_TYPES = {
    "integer": "int",
    "flag": "bool",
    "text": "str",
    "octets": "bytes",
    "item_key": "str | int",
    "anything": "object",
    "entity": "Entity | None",
    "chained": "Moved | Answer",
    "field_values": "dict[str, FieldValue]",
}


def type_of(reader: str) -> str:
    if match := re.fullmatch(r"nullable\((.*)\)", reader):
        return f"{type_of(match[1])} | None"
    if match := re.fullmatch(r"rows\((.*)\)", reader):
        return f"tuple[{type_of(match[1])}, ...]"
    return READER_TYPES.get(reader) or reader.removesuffix(".read")


def camel(words: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[^A-Za-z]+", words) if part and part != "SCUR")


def class_of(key: str) -> str:
    return CLASSES.get(key) or camel(key)


# ---- Python ------------------------------------------------------------------------------------

HEAD = '''"""Commands, replies and refusals of the server, from its command table.

Generated by generate.py from docs/commands.json: do not edit it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from ._command import Command, Word
from ._errors import BusyBase, Refused
from ._read import (
    FieldValue,
    anything,
    array,
    field_values,
    flag,
    integer,
    item_key,
    nullable,
    octets,
    pairs,
    row,
    rows,
    text,
)

R = TypeVar("R")
'''

FIXED = '''

@dataclass(frozen=True, slots=True)
class Entity:
    """A value with its version; the value is None for one that was deleted, expires is -1 where it never does."""

    version: int | None
    value: bytes | None
    expires: int | None

    @staticmethod
    def read(raw: object) -> Entity:
        version, value, expires = row(raw, 3, 3)
        return Entity(integer(version), nullable(octets)(value), integer(expires))


def entity(raw: object) -> Entity | None:
    """An entity, which is its value alone where no version was asked for."""
    if raw is None:
        return None
    return Entity(None, octets(raw), None) if isinstance(raw, (bytes, str)) else Entity.read(raw)


def chained(raw: object) -> Moved | Answer:
    """The answer to one command of a chain: only that of a session has an array in it, its items."""
    has_items = any(isinstance(element, (list, tuple)) for element in array(raw))
    return Answer.read(raw) if has_items else Moved.read(raw)


def _chain_words(links: tuple[Command[Any], ...]) -> list[Word]:
    words: list[Word] = []
    for link in links:
        name, account, *rest = link.words
        words += [account, 1 + len(rest), str(name).removeprefix("SCUR."), *rest]
    return words
'''


def class_text(shape: Shape) -> str:
    lines = ["", "", "@dataclass(frozen=True, slots=True)", f"class {shape.name}:"]
    lines += [f"    {name}: {type_of(reader)}" for name, reader in shape.fields]
    lines += ["", "    @staticmethod", f"    def read(raw: object) -> {shape.name}:"]
    names = [name for name, _ in shape.fields]
    if shape.kind == "map":
        lines.append("        found = pairs(raw)")
        values = [
            f'{reader}(found.get("{name}", ()))' if name in shape.rare else f'{reader}(found["{name}"])'
            for name, reader in shape.fields
        ]
    else:
        lines.append(f"        found = row(raw, {shape.least}, {len(names)})")
        values = [f"{reader}(found[{at}])" for at, (_, reader) in enumerate(shape.fields)]
    lines += [f"        return {shape.name}(", *(f"            {value}," for value in values), "        )"]
    return "\n".join(lines)


def row_text(name: str, rows: Rows) -> str:
    arguments = sorted(rows.arguments, key=lambda argument: not argument.required)
    lines = ["", "", "@dataclass(frozen=True, slots=True)", f"class {name}:"]
    lines += [f"    {parameter(argument)}" for argument in arguments]
    lines += ["", "    def words(self) -> list[Word]:", f'        words: list[Word] = ["{rows.keyword}"]']
    lines += emit(rows.arguments, "self.", 8)
    lines.append("        return words")
    return "\n".join(lines)


def parameter(argument: Argument) -> str:
    if argument.required:
        return f"{argument.name}: {argument.type}"
    if argument.type == "bool":
        return f"{argument.name}: bool = False"
    return f"{argument.name}: {argument.type} | None = None"


def emit(arguments: list[Argument], prefix: str, indent: int) -> list[str]:
    lines: list[str] = []
    space = " " * indent
    for argument in arguments:
        name = prefix + argument.name
        # The server refuses a short duration without a unit.
        value = f'f"{{{name}}}ms"' if argument.word == "duration" else name
        words = f'"{argument.keyword}", {value}' if argument.keyword else value
        if argument.type == "bool":
            lines += [f"{space}if {name}:", f'{space}    words.append("{argument.keyword}")']
        elif argument.required:
            lines.append(f"{space}words += [{words}]")
        else:
            lines += [f"{space}if {name} is not None:", f"{space}    words += [{words}]"]
    return lines


@dataclass
class Method:
    spec: dict[str, Any]
    grammar: Grammar
    reader: str

    @property
    def name(self) -> str:
        command = self.spec["name"]
        return METHODS.get(command) or command.removeprefix("SCUR.").lower().replace(".", "_")

    def is_chain(self) -> bool:
        return "COMMAND" in self.spec["grammar"]

    def parameters(self) -> list[str]:
        if self.is_chain():
            return ["*links: Command[Any]"]
        fields = [argument for argument in self.grammar.arguments if argument.keyword is None]
        required = [argument for argument in self.grammar.arguments if argument.keyword and argument.required]
        options = [a for a in self.grammar.arguments if a.keyword and not a.required]
        rows = [f"{r.name}: Sequence[{class_of(self.spec['name'] + ' ' + r.keyword)}] = ()" for r in self.grammar.rows]
        named = [parameter(argument) for argument in required + options] + rows
        return [parameter(argument) for argument in fields] + (["*", *named] if named else [])

    def arguments(self) -> str:
        if self.is_chain():
            return "*links"
        names = []
        is_named = False
        for text in self.parameters():
            name = text.split(":")[0]
            is_named = is_named or name == "*"
            if name != "*":
                names.append(f"{name}={name}" if is_named else name)
        return ", ".join(names)

    def repeatable(self) -> str:
        required = {argument.word for argument in self.grammar.arguments if argument.required}
        if self.spec["role"] == "read" or self.spec["name"] in REPEATABLE or required & {"txn", "request", "transfer"}:
            return "True"
        ids = [a.name for a in self.grammar.arguments if a.keyword in IDS]
        return " or ".join(f"{name} is not None" for name in ids) or "False"

    def summary(self) -> str:
        codes = ", ".join(self.spec["codes"])
        end = f"\n\n    Answers besides OK: {codes}." if codes else ""
        return f'    """{self.spec["summary"]}{end}\n    """' if end else f'    """{self.spec["summary"]}"""'

    def function(self) -> str:
        lines = ["", "", *signature("", self.name, self.parameters(), f"Command[{type_of(self.reader)}]")]
        lines.append(self.summary())
        lines.append(f'    words: list[Word] = ["{self.spec["name"]}"]')
        if self.is_chain():
            lines.append("    words += _chain_words(links)")
        else:
            lines += emit([a for a in self.grammar.arguments if a.keyword is None], "", 4)
            lines += emit([a for a in self.grammar.arguments if a.keyword], "", 4)
            for rows in self.grammar.rows:
                lines.append(f"    words += [word for entry in {rows.name} for word in entry.words()]")
        reads = ", only_reads=True" if self.spec["role"] == "read" else ""
        lines.append(f"    return Command(tuple(words), {self.reader}, {self.repeatable()}{reads})")
        return "\n".join(lines)

    def method(self, is_async: bool) -> str:
        run = "return await self.run" if is_async else "return self.run"
        head = "    async " if is_async else "    "
        lines = ["", *signature(head, self.name, ["self", *self.parameters()], type_of(self.reader))]
        lines.append(f'        """{self.spec["summary"]}"""')
        lines += call(run, f"commands.{self.name}", self.arguments())
        return "\n".join(lines)


def call(run: str, name: str, arguments: str) -> list[str]:
    line = f"        {run}({name}({arguments}))"
    if len(line) <= 110:
        return [line]
    return [f"        {run}(", f"            {name}(", *fill(arguments, 16), "            )", "        )"]


def fill(arguments: str, indent: int) -> list[str]:
    return textwrap.wrap(arguments, 110, initial_indent=" " * indent, subsequent_indent=" " * indent)


def signature(head: str, name: str, parameters: list[str], result: str) -> list[str]:
    """Formats a signature on one line, or with one parameter per line when it is long."""
    line = f"{head}def {name}({', '.join(parameters)}) -> {result}:"
    if len(line) <= 110:
        return [line]
    indent = " " * (len(head) - len(head.lstrip()) + 4)
    closing = f"{indent[4:]}) -> {result}:"
    return [f"{head}def {name}(", *(f"{indent}{parameter}," for parameter in parameters), closing]


def refusals(codes: list[dict[str, Any]]) -> str:
    text = ""
    for code in codes:
        if code["kind"] == "reject":
            base = "BusyBase" if code["name"] == "BUSY" else "Refused"
            text += f'\n\nclass {refusal_name(code)}({base}):\n    """{code["meaning"]}"""\n\n'
            text += f'    code: ClassVar[str] = "{code["name"]}"\n    number: ClassVar[int] = {code["number"]}\n'
    classes = "".join(f"        {refusal_name(code)},\n" for code in codes if code["kind"] == "reject")
    denials = ", ".join(f'"{code["name"]}"' for code in codes if code["kind"] == "denial")
    text += f"\n\nREFUSALS: dict[str, type[Refused]] = {{\n    kind.code: kind\n    for kind in (\n{classes}    )\n}}\n"
    return text + f"DENIALS = frozenset({{{denials}}})\n"


def refusal_name(code: dict[str, Any]) -> str:
    return CLASSES.get(code["name"]) or camel(code["name"].lower())


def generate(table: dict[str, Any]) -> dict[str, str]:
    """Returns the text of each generated file."""
    shapes: dict[str, Shape] = {}
    replies = ReplyReader(shapes)
    methods = [Method(spec, grammar_of(spec), replies.reader(spec)) for spec in table["commands"]]
    arguments: dict[str, Rows] = {}
    for method in methods:
        for rows in method.grammar.rows:
            name = class_of(f"{method.spec['name']} {rows.keyword}")
            known = arguments.setdefault(name, rows)
            if known.arguments != rows.arguments:
                raise SystemExit(f"{name} has two shapes: name one of them in CLASSES")
    text = HEAD + refusals(table["codes"])
    text += "\n".join(class_text(shape) for shape in shapes.values()) + "\n" + FIXED
    text += "\n".join(row_text(name, rows) for name, rows in arguments.items()) + "\n"
    text += "\n".join(method.function() for method in methods) + "\n"
    refused = [refusal_name(code) for code in table["codes"] if code["kind"] == "reject"]
    public = sorted(["Entity", *refused, *shapes, *arguments])
    text += "\n\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in public) + "]\n"
    return {"_commands.py": text, "_methods.py": methods_text(methods, [*shapes, *arguments, "Entity"])}


def methods_text(methods: list[Method], classes: list[str]) -> str:
    text = "\n".join(
        f'\n\nclass {name}:\n    """{doc}"""\n\n'
        f"    {prefix} run(self, command: Command[R]) -> R:\n        raise NotImplementedError\n"
        + "\n".join(method.method(is_async) for method in methods)
        for is_async, prefix, name, doc in (
            (False, "def", "SyncCommands", "One method for each command."),
            (True, "async def", "AsyncCommands", "One coroutine for each command."),
        )
    )
    used = sorted((name for name in classes if re.search(rf"\b{name}\b", text)), key=isort_key)
    imports = "from ._commands import (\n" + "".join(f"    {name},\n" for name in used) + ")"
    return METHODS_HEAD + imports + '\n\nR = TypeVar("R")\n' + text + "\n"


def isort_key(name: str) -> str:
    return name.lower()


METHODS_HEAD = '''"""A method for each command, for both kinds of stores.

Generated by generate.py from docs/commands.json: do not edit it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from . import _commands as commands
from ._command import Command
'''


def main() -> None:
    for name, text in generate(json.loads(TABLE.read_text())).items():
        path = PACKAGE / name
        if sys.argv[1:] == ["--check"]:
            if path.read_text() != text:
                raise SystemExit(f"{name} is not what generate.py writes: run it")
        else:
            path.write_text(text)


if __name__ == "__main__":
    main()
