"""A search that two accounts pay, wherever they are: the caller's budget, and the requests that a provider allows.

scurry serve --durability none
python examples/two_accounts.py
"""

from __future__ import annotations

import sys

from scurry_client import AccountExists, Denied, Hold, NewBucket, Store

PRICE = 10


def search(store: Store, pages: int) -> str:
    holds = [("caller", Hold("search", "cent", PRICE * pages)), ("provider", Hold("search", "request", pages))]
    try:
        with store.sessions(holds, ttl=30) as (caller, provider):
            for _ in range(min(pages, 3)):  # The provider has no more pages.
                provider.use(1)
                caller.use(PRICE)
    except Denied as denied:
        return f"denied: {denied.reason} of {denied.account}"
    return f"{provider.used()} requests, {caller.used()} cents"


def main(url: str) -> None:
    with Store.connect(url) as store:
        for account, unit, amount in (("caller", "cent", 100), ("provider", "request", 8)):
            try:
                store.create(account, buckets=[NewBucket("june", unit, amount)])
            except AccountExists:
                print(account, "is there already")
        for pages in (2, 5, 4):
            print(pages, "pages ->", search(store, pages))
        for account in ("caller", "provider"):
            bucket = store.get(account).buckets[0]
            print(f"{account}: {bucket.available} of {bucket.unit} left, held: {bucket.held}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "redis://127.0.0.1:6389")
