"""Compares tables of `scurry export` with each other and with what the store said, read by DuckDB and Arrow, and runs the
queries of a document.

usage: tables.py compare PARQUET OTHER-PARQUET CSV <EXPECTED.json
       tables.py rows PARQUET             prints the rows of each table, and those of the sums
       tables.py events PARQUET LINES     compares files of events of both forms
       tables.py document FILE DIRECTORY  runs the blocks of SQL and Python of a document in a directory
       tables.py reports FILE DIRECTORY SCURRY DATA <EXPECTED.json
                                          compares the queries of a document with the reports that they name

EXPECTED has `totals` (SCUR.TOTALS by unit), `accounts` (by id the available and held amounts of each bucket).
"""

import base64
import contextlib
import datetime
import decimal
import io
import json
import os
import re
import shlex
import subprocess
import sys

import duckdb

duckdb.sql("SET TimeZone = 'UTC'")


def tables(directory):
    names = [name.removesuffix(".parquet") for name in sorted(os.listdir(directory)) if name.endswith(".parquet")]
    left = set(os.listdir(directory)) - {f"{name}.parquet" for name in names}
    assert left == {"export.json"}, left
    return names


def rows(query):
    return duckdb.sql(query).fetchall()


def check_metadata(directory):
    import pyarrow.parquet

    with open(f"{directory}/export.json") as file:
        about = json.load(file)
    for name in tables(directory):
        read = pyarrow.parquet.ParquetFile(f"{directory}/{name}.parquet")
        texts = {key.decode(): text.decode() for key, text in read.metadata.metadata.items() if key.startswith(b"scurry.")}
        assert texts == {key: text for key, text in about.items() if key != "rows"}, texts
        assert read.metadata.num_rows == about["rows"][name] == read.read().num_rows, name
    return about


def check_sums(directory, expected):
    fields = "available held credited refunded consumed expired voided overdrawn".split()
    sums = ", ".join(f"sum({field})" for field in fields)
    for source in ("buckets", "totals"):
        found = {row[0]: list(map(int, row[1:])) for row in rows(f"SELECT unit, {sums} FROM '{directory}/{source}.parquet' GROUP BY unit")}
        wanted = {unit: [int(of[field]) for field in fields] for unit, of in expected["totals"].items()}
        assert found == wanted, (source, found, wanted)
    uncollected = rows(f"SELECT unit, uncollected FROM '{directory}/totals.parquet' ORDER BY unit")
    assert [int(row[1]) for row in uncollected] == [int(expected["totals"][row[0]]["uncollected"]) for row in uncollected]
    assert rows(f"SELECT bool_and(conserves) FROM '{directory}/totals.parquet'") == [(True,)]


def check_balances(directory, expected):
    found = {account: {} for (account,) in rows(f"SELECT account FROM '{directory}/accounts.parquet'")}
    for account, bucket, available, held in rows(f"SELECT account, bucket, available, held FROM '{directory}/buckets.parquet'"):
        found[account][bucket] = [available, held]
    assert found == expected["accounts"], [(id, found.get(id), of) for id, of in expected["accounts"].items() if found.get(id) != of]
    count = rows(f"SELECT count(*) FROM '{directory}/accounts.parquet'")
    assert count == [(len(found),)], "an account has two rows"


def check_parts(directory):
    """Rows of one table add up to the amounts of another."""
    for total, amount, part, keys in (
        ("buckets", "held", "holds", "account, bucket_no"),
        ("items", "held", "holds", "account, session, item, unit"),
        ("transactions", "debited", "debits", "account, transaction"),
    ):
        whole = f"SELECT {keys}, {amount} FROM '{directory}/{total}.parquet' WHERE {amount} <> 0"
        sums = f"SELECT {keys}, sum(amount)::BIGINT FROM '{directory}/{part}.parquet' GROUP BY ALL"
        assert rows(f"{whole} EXCEPT {sums}") == rows(f"{sums} EXCEPT {whole}") == [], total
        assert rows(sums), f"there are no {part}"
    counted = f"SELECT count(*) FROM '{directory}/sessions.parquet'"
    assert rows(counted) == rows(f"SELECT sum(open_sessions) FROM '{directory}/accounts.parquet'")


def check_same(directory, other):
    for name in tables(directory):
        one, two = f"FROM '{directory}/{name}.parquet'", f"FROM '{other}/{name}.parquet'"
        assert rows(f"({one}) EXCEPT ALL ({two})") == rows(f"({two}) EXCEPT ALL ({one})") == [], name


def check_csv(directory, csv):
    types = {"BLOB": "from_base64({0})"}
    for name in tables(directory):
        columns = rows(f"DESCRIBE FROM '{directory}/{name}.parquet'")
        # An empty text and null are the same in CSV.
        whole = ", ".join(f"nullif(\"{column[0]}\", '')" if column[1] == "VARCHAR" else f'"{column[0]}"' for column in columns)
        texts = (types.get(column[1], "CAST({0} AS " + column[1] + ")").format(f'"{column[0]}"') for column in columns)
        read = f"read_csv('{csv}/{name}.csv', header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"')"
        one = f"SELECT {whole} FROM '{directory}/{name}.parquet'"
        two = f"SELECT {', '.join(texts)} FROM {read}"
        assert rows(f"({one}) EXCEPT ALL ({two})") == rows(f"({two}) EXCEPT ALL ({one})") == [], name


def compare(directory, other, csv):
    expected = json.load(sys.stdin)
    about = check_metadata(directory)
    check_metadata(other)
    check_sums(directory, expected)
    check_balances(directory, expected)
    check_parts(directory)
    check_same(directory, other)
    check_csv(directory, csv)
    print("equal", about["rows"]["accounts"], about.get("scurry.positions") == about.get("scurry.positions_end"))


def print_rows(directory):
    print(json.dumps(check_metadata(directory)["rows"]))
    for row in rows(f"SELECT unit, available, held, conserves FROM '{directory}/totals.parquet' ORDER BY unit"):
        print(*row)


def events(directory, lines):
    """Each event has the same fields in a table as on its line of JSON."""

    def field(name, value):
        if isinstance(value, datetime.datetime):
            ms = round(value.timestamp() * 1000)
            return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC) if name == "time" else ms
        if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        return json.loads(value) if name == "identities" else value

    def of_line(line):
        event = json.loads(line)
        if "time" in event:
            event["time"] = datetime.datetime.fromisoformat(event["time"])
        return event

    table = duckdb.sql(f"FROM '{directory}/*.parquet'")
    found = [{name: field(name, value) for name, value in zip(table.columns, row) if value is not None} for row in table.fetchall()]
    wanted = []
    for name in os.listdir(lines):
        if name.endswith(".jsonl"):
            with open(f"{lines}/{name}") as file:
                wanted += map(of_line, file)
    found.sort(key=lambda event: event["id"])
    wanted.sort(key=lambda event: event["id"])
    assert found == wanted, [pair for pair in zip(found, wanted) if pair[0] != pair[1]][:2]
    texts = dict(rows(f"SELECT DISTINCT key::VARCHAR, value::VARCHAR FROM parquet_kv_metadata('{directory}/*.parquet') WHERE key::VARCHAR = 'scurry.store'"))
    assert texts == {"scurry.store": found[0]["store"]}, texts
    print("events", len(found) > 100, len({name for event in found for name in event}) > 25)


def document(file, directory):
    with open(file) as text:
        blocks = re.findall(r"^```(sql|python)\n(.*?)^```", text.read(), re.MULTILINE | re.DOTALL)
    os.chdir(directory)
    for language, code in blocks:
        if language == "sql":
            for query in filter(str.strip, code.split(";")):
                print(rows(query))
        else:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(code, {})
            print(said.getvalue())
    print("blocks", len(blocks))


def report(scurry, words, source):
    """Returns the answer of a report, which must be complete."""
    command = [scurry, *words, *source, "--format", "json"]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, (command, said.stderr)
    answer = json.loads(said.stdout)
    assert answer["complete"] and not answer["missing"], answer["missing"]
    assert not answer["left_out"] or "--top" in words, words
    return answer


def shown(value):
    """Returns a value of DuckDB as a report shows it."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return int(value) if isinstance(value, decimal.Decimal) else value


def balances(found):
    """Returns the balances around the entries of a statement, in the order of the query."""
    of = {word: {(row["account"], row["bucket"]): row["available"] for row in found if row["event"] == word} for word in ("opening", "closing")}
    return [{"account": key[0], "bucket": key[1], "opening": of["opening"][key], "closing": of["closing"][key]} for key in sorted(of["opening"])]


def reports(file, directory, scurry, data):
    """Queries and reports have the same rows, and their sums are those that the store told."""
    expected = json.load(sys.stdin)["totals"]
    with open(file) as text:
        blocks = re.findall(r"^```sql\n(.*?)^```", text.read(), re.MULTILINE | re.DOTALL)
    os.chdir(directory)
    sources = [["--files", "events"], ["--files", "lines"], ["--files", "messages"], ["--backup", data]]
    compared, kinds = 0, set()
    for command, query in re.findall(r"^-- scurry (report [^\n]*)\n(.*?;)$", "\n".join(blocks), re.MULTILINE | re.DOTALL):
        relation = duckdb.sql(query)
        wanted = [dict(zip(relation.columns, map(shown, row))) for row in relation.fetchall()]
        assert wanted or "--older" in command, command
        # The other sources have the same events, and their sums are compared below. A backup takes longer to read.
        words = shlex.split(command)
        is_new = words[1] in ("spend", "denied", "statement") and words[1] not in kinds
        kinds.add(words[1])
        for source in [sources[0], sources[-1]] if is_new else [sources[0]]:
            found = report(scurry, words, source)["rows"]
            if "opening" in relation.columns:
                found = balances(found)
            found = [row for row in found if row.get("event") not in ("opening", "closing")]
            found = [{name: row[name] for name in relation.columns} for row in found]
            if "ORDER BY time," in query:
                found.sort(key=lambda row: (row["time"], row["account"]))
            assert found == wanted, (command, source, [pair for pair in zip(found, wanted) if pair[0] != pair[1]][:2], len(found), len(wanted))
            compared += len(found)
    for source in sources:
        spent = {row["unit"]: row for row in report(scurry, ["report", "spend"], source)["totals"]}
        for unit, of in expected.items():
            found = spent.get(unit, {"spent": 0, "refunded": 0, "uncollected": 0})
            assert [found["spent"], found["refunded"], found["uncollected"]] == [int(of[name]) for name in ("consumed", "refunded", "uncollected")], (source, unit, found, of)
        rows_of = {row["unit"]: row for row in report(scurry, ["report", "conservation"], source)["rows"]}
        for unit, of in expected.items():
            names = "available held credited refunded consumed expired voided".split()
            assert [rows_of[unit][name] for name in names] == [int(of[name]) for name in names], (source, unit)
        held = {row["unit"]: row["amount"] for row in report(scurry, ["report", "holds"], source)["totals"]}
        assert held == {unit: int(of["held"]) for unit, of in expected.items() if int(of["held"])}, (source, held)
    print("same", compared > 120)


{"compare": compare, "rows": print_rows, "events": events, "document": document, "reports": reports}[sys.argv[1]](*sys.argv[2:])
