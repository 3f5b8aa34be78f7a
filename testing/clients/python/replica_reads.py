"""Reads through redis-py from the followers of a group. See ../README.md for the arguments."""

import sys

import redis
from redis.cluster import ClusterNode, LoadBalancingStrategy, RedisCluster

KEYS = 60


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
            assert client.get(key) == str(number), key
        with client.pipeline() as pipe:
            for number in range(KEYS):
                pipe.get(f"{strategy.name}-{number}")
            assert pipe.execute() == [str(number) for number in range(KEYS)]
        account = f"account-{strategy.name}"
        client.execute_command("SCUR.CREATE", account, "BUCKET", "main", "cent", 5)
        assert client.execute_command("SCUR.GET", account)
        client.close()
    print(f"redis-py {redis.__version__}: {', '.join(strategy.name for strategy in LoadBalancingStrategy)}")


main()
