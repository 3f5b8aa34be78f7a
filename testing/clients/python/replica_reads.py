"""Reads through redis-py from the followers of a group. See ../README.md for the arguments."""

import sys
import time

import redis
from redis.cluster import ClusterNode, LoadBalancingStrategy, RedisCluster

KEYS = 60
TRIES_MAX = 1000


def until(read, wanted):
    """Reads until a value is there: a follower may show what was before, and nothing else."""
    for _ in range(TRIES_MAX):
        found = read()
        if found == wanted:
            return
        assert found is None or isinstance(found, list) and None in found, found
        time.sleep(0.01)
    raise AssertionError(f"{wanted} was never shown")


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    for strategy in LoadBalancingStrategy:
        client = RedisCluster(
            startup_nodes=[ClusterNode(host, int(port))],
            load_balancing_strategy=strategy,
            decode_responses=True,
        )
        assert len(client.get_replicas()) >= 2, client.get_nodes()
        for number in range(KEYS):
            key = f"{strategy.name}-{number}"
            assert client.set(key, number)
            until(lambda key=key: client.get(key), str(number))

        def read_all(strategy=strategy, client=client):
            with client.pipeline() as pipe:
                for number in range(KEYS):
                    pipe.get(f"{strategy.name}-{number}")
                return pipe.execute()

        until(read_all, [str(number) for number in range(KEYS)])
        account = f"account-{strategy.name}"
        client.execute_command("SCUR.CREATE", account, "BUCKET", "main", "cent", 5)
        for _ in range(TRIES_MAX):
            try:
                assert client.execute_command("SCUR.GET", account)
                break
            except redis.ResponseError as error:
                # The follower has not applied the CREATE yet.
                assert str(error).startswith("UNKNOWN_ACCOUNT"), error
                time.sleep(0.01)
        client.close()
    print(f"redis-py {redis.__version__}: {', '.join(strategy.name for strategy in LoadBalancingStrategy)}")


main()
