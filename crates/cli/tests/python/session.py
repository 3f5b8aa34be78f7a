"""A charging session and plain commands through redis-py: session.py PORT PASSWORD PROTOCOL."""

import sys

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def as_map(reply):
    """RESP3 gives a dict, RESP2 a flat list."""
    if isinstance(reply, dict):
        return reply
    return dict(zip(reply[::2], reply[1::2]))


def equal(got, expected):
    assert got == expected, f"expected {expected!r}, got {got!r}"


def refused(call, *starts):
    try:
        got = call()
    except redis.exceptions.RedisError as error:
        assert any(str(error).startswith(start) for start in starts), f"{error!r}"
    else:
        raise AssertionError(f"not refused: {got!r}")


def charging(client):
    run = client.execute_command
    equal(run("SCUR.CREATE", "alice", "IDENTITY", "msisdn", "4912345",
              "BUCKET", "main", "cent", 1000, "FLOOR", -50,
              "BUCKET", "gift", "cent", 100, "PRIORITY", -1), ["OK", 1])
    refused(lambda: run("SCUR.CREATE", "alice"), "ACCOUNT_EXISTS 21 ")
    equal(run("SCUR.TOPUP", "alice", "t1", "main", 500), ["OK", 0, 2, 1500])
    equal(run("SCUR.TOPUP", "alice", "t1", "main", 500), ["OK", 1, 2, 1500])
    refused(lambda: run("SCUR.TOPUP", "alice", "t1", "main", 501), "REQUEST_MISMATCH 32 ")

    equal(run("SCUR.RESERVE", "alice", "s1", 0, "DATA", b"\x01\x02",
              "ITEM", 1, "cent", "REQUESTED", 300), ["OK", 0, 1, [[1, "OK", 300, 0, 0]]])
    equal(run("SCUR.UPDATE", "alice", "s1", 1, "ITEM", 1, "cent", "USED", 250, "REQUESTED", 5000),
          ["OK", 0, 2, [[1, "OK", 1400, 1, 0]]])
    equal(run("SCUR.UPDATE", "alice", "s1", 1, "ITEM", 1, "cent", "USED", 250, "REQUESTED", 5000),
          ["OK", 1, 2, [[1, "OK", 1400, 1, 0]]])
    shown = as_map(run("SCUR.SESSION", "alice", "s1"))
    session = as_map(shown["session"])
    equal((session["id"], session["version"], session["data"]), ("s1", 2, "\x01\x02"))
    equal(session["items"], [[1, "cent", 1700, 1400, 250, 250, 0, 50, 0]])
    equal((shown["status"], shown["identities"]), ("active", [["msisdn", "4912345"]]))
    equal(run("SCUR.CHECK", "alice", "cent", 1), ["CREDIT_LIMIT_REACHED", 0])
    equal(run("SCUR.TERMINATE", "alice", "s1", 2, "ITEM", 1, "cent", "USED", 350),
          ["OK", 0, 0, [[1, "OK", 0, 0, 0]]])
    refused(lambda: run("SCUR.SESSION", "alice", "s1"), "UNKNOWN_SESSION 30 ")

    equal(run("SCUR.DEBIT", "alice", "d1", "cent", 400), ["OK", 0, 6, 400])
    equal(run("SCUR.REFUND", "alice", "r1", "d1", 100), ["OK", 0, 7, 100])
    equal(run("SCUR.COUNTER", "alice", "c1", "calls", 3), ["OK", 0, 8, 3])
    account = as_map(run("SCUR.GET", "alice"))
    equal(account["buckets"][0], ["main", "cent", 700, 0, -50, 0, 0, None])
    equal(account["counters"], [["calls", "events", 3, "none", None]])
    equal(account["sessions"], [])
    audit = as_map(run("SCUR.AUDIT", "alice"))
    equal(audit["ok"], 1)
    totals = as_map(run("SCUR.TOTALS"))
    equal((totals["accounts"], totals["sessions"]), (1, 0))
    equal(totals["units"], [["cent", 700, 0, 1600, 100, 1000, 0, 0, 0, 0]])


def plain(client):
    equal(client.set("k", "v"), True)
    equal(client.get("k"), "v")
    equal(client.get("none"), None)
    equal(client.mset({"a": 1, "b": 2}), True)
    equal(client.mget("a", "alice", "none", "b"), ["1", None, None, "2"])
    equal(client.exists("a", "a", "alice", "none"), 3)
    equal(client.delete("a", "b", "none"), 2)
    refused(lambda: client.get("alice"), "WRONGTYPE")
    refused(lambda: client.set("alice", 1), "WRONGTYPE")
    refused(lambda: client.delete("k", "alice"), "WRONGTYPE")
    equal(client.get("k"), "v")
    refused(lambda: client.execute_command("SCUR.GET", "k"), "WRONGTYPE")
    lives(client)
    entities(client)
    equal(client.dbsize(), 2)
    refused(client.flushall, "accounts exist: FLUSHALL FORCE deletes balances for good")


def lives(client):
    equal(client.set("k", "v", ex=100, xx=True), True)
    equal((client.ttl("k") > 90, client.persist("k"), client.ttl("k")), (True, True, -1))
    equal(client.set("k", "w", get=True, nx=True), "v")
    equal(client.set("lock", "me", nx=True, px=60_000), True)
    equal(client.set("lock", "you", nx=True, px=60_000), None)
    equal(client.getdel("lock"), "me")
    equal((client.incr("n", 5), client.decr("n"), client.append("n", "0")), (5, 4, 2))
    equal((client.getset("n", "abc"), client.setrange("n", 1, "x"), client.getrange("n", 0, 1)), ("40", 3, "ax"))
    equal((client.expireat("n", 4102444800), client.expiretime("n")), (True, 4102444800))
    equal((client.expire("n", 10, gt=True), client.getex("n", persist=True)), (False, "axc"))
    equal((client.type("n"), client.object("encoding", "n")), ("string", "embstr"))
    assert client.memory_usage("n") > 4
    equal(sorted(client.scan_iter(match="[kn]", count=100)), ["k", "n"])
    equal((client.touch("n", "none"), client.unlink("n")), (1, 1))
    equal(client.wait(0, 10), 0)
    equal(client.config_set("slowlog-log-slower-than", 20_000), True)
    equal(client.config_get("slowlog-log-slower-than"), {"slowlog-log-slower-than": "20000"})
    equal((client.slowlog_get(), client.slowlog_len(), client.slowlog_reset()), ([], 0, True))
    equal((client.latency_latest(), client.latency_reset()), ([], 0))


def entities(client):
    run = client.execute_command
    applied, version = run("ENTITY.PUT", "user:7", "blue", "EX", 100)
    equal(applied, 1)
    equal(run("ENTITY.GET", "user:7"), "blue")
    equal(run("ENTITY.PUT", "user:7", "red", "IFVERSION", version - 1), [0, version])
    equal(run("ENTITY.GET", "user:7", "WITHVERSION")[:2], [version, "blue"])
    applied, deleted = run("ENTITY.DEL", "user:7")
    equal((applied, deleted > version), (1, True))
    equal(run("ENTITY.GET", "user:7", "WITHVERSION"), [deleted, None, -1])


def server(client, protocol):
    equal(client.ping(), True)
    equal(client.echo("x"), "x")
    equal(client.client_setname("tester"), True)
    equal(client.client_getname(), "tester")
    own = client.client_id()
    listed = [other for other in client.client_list() if int(other["id"]) == own]
    equal((listed[0]["name"], listed[0]["resp"]), ("tester", str(protocol)))
    equal(client.config_get("save")["save"], "")
    equal(client.config_get("requirepass"), {})
    info = client.info()
    equal((info["server_name"], info["accounts"]), ("scurry", 1))
    assert client.command_count() > 30
    equal(client.command_getkeys("SCUR.DEBIT", "alice", "t", "cent", 1), ["alice"])
    commands = client.command()
    equal((commands["scur.get"]["arity"], commands["scur.get"]["first_key_pos"]), (2, 1))
    with client.pipeline(transaction=False) as pipe:
        for number in range(1000):
            pipe.set(f"p{number}", number)
            pipe.get(f"p{number}")
        replies = pipe.execute()
    equal(replies[1::2], [str(number) for number in range(1000)])


def main():
    port, password, protocol = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    # A refused password is a connection error to redis-py, which would try it again for seconds.
    options = dict(port=port, protocol=protocol, decode_responses=True,
                   retry=Retry(NoBackoff(), 0))
    refused(redis.Redis(password="wrong", **options).ping,
            "WRONGPASS", "invalid username-password pair")
    refused(redis.Redis(**options).ping, "Authentication required", "NOAUTH", "HELLO must be called")
    client = redis.Redis(password=password, **options)
    charging(client)
    plain(client)
    server(client, protocol)
    client.close()


main()
