"""Users and TLS through redis-py: tls.py PORT CA OTHER_CA CERTIFICATE KEY PROTOCOL."""

import sys

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def refused(call, kind, *words):
    try:
        got = call()
    except kind as error:
        assert any(word in str(error) for word in words), f"{error!r}"
    else:
        raise AssertionError(f"not refused: {got!r}")


def main():
    port, ca, other_ca, certificate, key, protocol = sys.argv[1:]
    options = dict(host="localhost", port=int(port), protocol=int(protocol), ssl=True,
                   decode_responses=True, retry=Retry(NoBackoff(), 0))
    own = dict(ssl_certfile=certificate, ssl_keyfile=key)
    user = dict(username="alice", password="password")
    client = redis.Redis(ssl_ca_certs=ca, **own, **user, **options)
    assert client.ping()
    assert client.acl_whoami() == "alice"
    assert client.set("k", "v" * 100_000)
    assert client.get("k") == "v" * 100_000
    with client.pipeline(transaction=False) as pipe:
        for number in range(10_000):
            pipe.set(f"p{number}", number)
        assert pipe.execute() == [True] * 10_000
    refused(client.flushall, redis.exceptions.NoPermissionError, "no permissions to run the 'flushall'")
    client.close()
    wrong = redis.Redis(ssl_ca_certs=ca, **own, **options, username="alice", password="wrong")
    refused(wrong.ping, redis.exceptions.AuthenticationError, "WRONGPASS", "invalid username-password")
    refused(redis.Redis(ssl_ca_certs=other_ca, **own, **user, **options).ping,
            redis.exceptions.ConnectionError, "CERTIFICATE_VERIFY_FAILED", "certificate verify failed")
    refused(redis.Redis(ssl_ca_certs=ca, **user, **options).ping,
            redis.exceptions.ConnectionError, "")


main()
