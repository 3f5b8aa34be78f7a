"""Draws who spent most on a day: a chart as SVG, which every browser shows, of the events that `scurry ship files` wrote.

usage: spend_chart.py EVENTS CHART.svg [DAY]

EVENTS is the directory, and DAY a date such as 2026-11-29 [default: yesterday], of the time zone TZ [default: UTC].
It needs `pip install duckdb` and nothing else.
"""

import html
import os
import sys

import duckdb

ROWS, BAR, WIDTH, TEXT = 10, 26, 480, 200

if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
events, chart = sys.argv[1:3]
store = duckdb.connect()
store.execute("SET TimeZone = $1", [os.environ.get("TZ") or "UTC"])
(day,) = store.execute("SELECT coalesce($1::DATE, current_date - 1)", [sys.argv[3] if len(sys.argv) == 4 else None]).fetchone()
spent = store.execute(
    """
    SELECT account, unit, sum(amount) AS spent FROM read_parquet($1)
    WHERE event IN ('settled', 'debited', 'overdrawn') AND time::DATE = $2
    GROUP BY account, unit ORDER BY unit, spent DESC, account
    """,
    [f"{events}/*.parquet", day],
).fetchall()
if not spent:
    sys.exit(f"{events} has no use on {day}: give another day")
# Amounts of different units cannot be compared, so the chart has the first one.
unit = spent[0][1]
accounts = [(account, amount) for account, of, amount in spent if of == unit]
shown = accounts[:ROWS]
most = shown[0][1]

lines = [
    f'<svg xmlns="http://www.w3.org/2000/svg" width="{TEXT + WIDTH + 120}" height="{(len(shown) + 2) * BAR}" font-family="sans-serif" font-size="14">',
    f'<text x="8" y="{BAR - 8}" font-weight="bold">{html.escape(unit)} spent on {day}</text>',
]
for row, (account, amount) in enumerate(shown, 1):
    top, length = row * BAR, max(1, round(WIDTH * amount / most))
    lines += [
        f'<text x="{TEXT - 8}" y="{top + BAR - 9}" text-anchor="end">{html.escape(account[:24])}</text>',
        f'<rect x="{TEXT}" y="{top}" width="{length}" height="{BAR - 6}" fill="#3b6ea5"/>',
        f'<text x="{TEXT + length + 6}" y="{top + BAR - 9}">{amount}</text>',
    ]
with open(chart, "w", encoding="utf-8") as file:
    file.write("\n".join([*lines, "</svg>"]) + "\n")
print(f"{chart}: {len(shown)} of {len(accounts)} accounts, {unit} on {day}")
