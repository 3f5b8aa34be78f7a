"""Debits through redis-py while the leader of a group dies. See ../README.md for the arguments."""

import collections
import sys
import threading
import time

import redis
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import ClusterDownError, ReadOnlyError, RedisError
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

# Of each part: before the leader dies, and after it.
DEBITS = 200
# Between two attempts of the application, and how long it tries one debit.
PAUSE = 0.02
PATIENCE = 120


def connect(mode, addresses):
    places = [(host, int(port)) for host, port in (place.rsplit(":", 1) for place in addresses)]
    if mode == "cluster":
        # They follow each other without a pause, but for CLUSTERDOWN, after which it waits for 0.25 s.
        return RedisCluster(
            startup_nodes=[ClusterNode(*place) for place in places],
            retry=Retry(NoBackoff(), 1000),
            decode_responses=True,
        )
    lost = [redis.ConnectionError, redis.TimeoutError, ClusterDownError, ReadOnlyError]
    if mode == "sentinel":
        # A connection that has ended dials the same address again and asks the Sentinels only when that has
        # failed, and the application has seen it: few retries. A Sentinel that is down is left at once.
        own = dict(socket_timeout=1, retry=Retry(NoBackoff(), 0))
        return Sentinel(places, sentinel_kwargs=own).master_for(
            "scurry",
            retry=Retry(ExponentialWithJitterBackoff(base=0.01, cap=0.2), 5),
            retry_on_error=[*lost, MasterNotFoundError],
            decode_responses=True,
        )
    (host, port), = places
    return redis.Redis(
        host=host,
        port=port,
        retry=Retry(ExponentialWithJitterBackoff(base=0.05, cap=0.5), 20),
        retry_on_error=lost,
        decode_responses=True,
    )


def main():
    mode, addresses = sys.argv[1], sys.argv[2].split(",")
    client = connect(mode, addresses)
    killed = threading.Event()
    threading.Thread(target=lambda: sys.stdin.readline() and killed.set(), daemon=True).start()
    kinds, gap, number, last = collections.Counter(), 0, 0, DEBITS
    answered = time.monotonic()
    while number < last:
        begun = time.monotonic()
        while True:
            try:
                code, _, _, amount = client.execute_command(
                    "SCUR.DEBIT", f"purse-{mode}", f"txn-{number}", "cent", 1)
                break
            except RedisError as error:
                # Whether it was done is not known: the same id again.
                kinds[type(error).__name__] += 1
                if time.monotonic() - begun > PATIENCE:
                    raise
                time.sleep(PAUSE)
        assert (code, amount) == ("OK", 1), (code, amount)
        gap, answered = max(gap, time.monotonic() - answered), time.monotonic()
        number += 1
        if number == DEBITS:
            print("half", flush=True)
        if not killed.is_set():
            last = number + DEBITS
    saw = ",".join(f"{kind}:{count}" for kind, count in sorted(kinds.items())) or "none"
    print(f"debits={number} errors={kinds.total()} kinds={saw} gap_ms={gap * 1000:.0f} "
          f"redis-py {redis.__version__} {mode}")


main()
