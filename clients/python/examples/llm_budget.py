"""An organisation's budget for language models: hold an estimate, call the model, debit what it cost.

scurry serve --durability none
python examples/llm_budget.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from scurry_client import AccountExists, Denied, NewBucket, Store


def model(prompt: str) -> Iterator[int]:
    """A provider that reports the price of each piece of its answer."""
    yield 40 * len(prompt)
    for _ in range(3):
        yield 900


def ask(store: Store, organisation: str, prompt: str) -> str:
    estimate = 2000
    try:
        with store.session(organisation, unit="ucent", item="gpt-x", hold=estimate, ttl=120) as session:
            for price in model(prompt):
                if price > session.left():
                    session.extend(estimate)
                session.use(price)
    except Denied as denied:
        return f"denied: {denied.reason or 'no more'}"
    return f"cost {session.used()}"


def main(url: str) -> None:
    with Store.connect(url) as store:
        try:
            store.create("org-7", buckets=[NewBucket("june", "ucent", 8000)])
        except AccountExists:
            print("org-7 is there already")
        for prompt in ("hello", "tell me more", "and then?"):
            print(prompt, "->", ask(store, "org-7", prompt))
        bucket = store.get("org-7").buckets[0]
        print(f"left: {bucket.available} of {bucket.unit}, held: {bucket.held}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "redis://127.0.0.1:6389")
