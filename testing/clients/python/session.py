"""A charging session and plain commands through redis-py. See ../README.md for the arguments."""

import sys
import time

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry

ACCOUNTS = ("alice", "bob", "carol", "dave")
GROUPS = ("north", "south", "east", "west")
BYTES = b"\x00\r\n\xff$*"


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


def authentication(address, protocol):
    options = dict(address, protocol=protocol, retry=Retry(NoBackoff(), 0))
    options.pop("password")
    refused(redis.Redis(password="wrong", **options).ping,
            "WRONGPASS", "invalid username-password pair")
    refused(redis.Redis(**options).ping, "Authentication required", "NOAUTH", "HELLO must be called")


def charging(client, account):
    def run(name, *arguments):
        return client.execute_command(f"SCUR.{name}", account, *arguments)

    equal(run("CREATE", "IDENTITY", "msisdn", "4912345",
              "BUCKET", "main", "cent", 1000, "FLOOR", -50,
              "BUCKET", "gift", "cent", 100, "PRIORITY", -1), ["OK", 1])
    refused(lambda: run("CREATE"), "ACCOUNT_EXISTS 21 ")
    equal(run("TOPUP", "t1", "main", 500), ["OK", 0, 2, 1500])
    equal(run("TOPUP", "t1", "main", 500), ["OK", 1, 2, 1500])
    refused(lambda: run("TOPUP", "t1", "main", 501), "REQUEST_MISMATCH 32 ")

    equal(run("RESERVE", "s1", 0, "DATA", BYTES,
              "ITEM", 1, "cent", "REQUESTED", 300), ["OK", 0, 1, [[1, "OK", 300, 0, 0]]])
    update = ("UPDATE", "s1", 1, "ITEM", 1, "cent", "USED", 250, "REQUESTED", 5000)
    equal(run(*update), ["OK", 0, 2, [[1, "OK", 1400, 1, 0]]])
    equal(run(*update), ["OK", 1, 2, [[1, "OK", 1400, 1, 0]]])
    shown = as_map(run("SESSION", "s1"))
    session = as_map(shown["session"])
    equal((session["id"], session["version"]), ("s1", 2))
    equal(session["data"].encode("utf-8", "surrogateescape"), BYTES)
    equal(session["items"], [[1, "cent", 1700, 1400, 250, 250, 0, 50, 0]])
    equal((shown["status"], shown["identities"]), ("active", [["msisdn", "4912345"]]))
    equal(run("CHECK", "cent", 1), ["CREDIT_LIMIT_REACHED", 0, "balance"])
    equal(run("TERMINATE", "s1", 2, "ITEM", 1, "cent", "USED", 350),
          ["OK", 0, 0, [[1, "OK", 0, 0, 0]]])
    refused(lambda: run("SESSION", "s1"), "UNKNOWN_SESSION 30 ")

    equal(run("DEBIT", "d1", "cent", 400), ["OK", 0, 6, 400])
    equal(run("REFUND", "r1", "d1", 100), ["OK", 0, 7, 100])
    equal(run("COUNTER", "c1", "calls", 3), ["OK", 0, 8, 3])
    shown = as_map(run("GET"))
    equal(shown["buckets"][0], ["main", "cent", 700, 0, -50, 0, 0, None])
    equal(shown["counters"], [["calls", "events", 3, "none", None]])
    equal(shown["sessions"], [])
    equal(as_map(run("AUDIT"))["ok"], 1)
    refused(lambda: client.execute_command("SCUR.GET", "nobody"), "UNKNOWN_ACCOUNT 20 ")
    refused(lambda: client.get(account), "WRONGTYPE")
    refused(lambda: client.set(account, 1), "WRONGTYPE")
    equal(client.set(f"{account}-plain", "v"), True)
    refused(lambda: client.execute_command("SCUR.GET", f"{account}-plain"), "WRONGTYPE")


def chains(client, group):
    """Three accounts of one hash slot; the second has a limit."""
    accounts = [f"{{{group}}}", f"{{{group}}}:team", f"{{{group}}}:key"]
    team = accounts[1]

    def chain(*command):
        links = [word for account in accounts for word in (account, len(command), *command)]
        return client.execute_command("SCUR.CHAIN", *links)

    for account in accounts:
        equal(client.execute_command("SCUR.CREATE", account, "BUCKET", "main", "token", 1000),
              ["OK", 1])
    equal(client.execute_command("SCUR.LIMIT", team, "l1", "cap", "UNIT", "token", "AMOUNT", 500),
          ["OK", 0, 2, 500])
    reserve = ("RESERVE", "s1", 0, "ITEM", "input", "token", "REQUESTED", 300)
    for replayed in (0, 1):
        link = ["OK", replayed, 1, [["input", "OK", 300, 0, 0]]]
        equal(chain(*reserve), ["OK", replayed, 0, [link] * 3])
    other = ["CHAIN_DENIED", 0, 0, [["input", "CHAIN_DENIED", 0, 0, 0, "chain"]]]
    denied = ["CREDIT_LIMIT_REACHED", 0, 0,
              [["input", "CREDIT_LIMIT_REACHED", 0, 1, 0, "limit cap"]]]
    equal(chain("RESERVE", "s2", 0, "ITEM", "input", "token", "REQUESTED", 300, "MIN", 300),
          ["CREDIT_LIMIT_REACHED", 0, 2, [other, denied, other]])
    equal(chain("TERMINATE", "s1", 1, "ITEM", "input", "token", "USED", 250),
          ["OK", 0, 0, [["OK", 0, 0, [["input", "OK", 0, 0, 0]]]] * 3])
    shown = as_map(client.execute_command("SCUR.GET", team))
    equal(shown["limits"], [["cap", "token", None, 500, 250, 0, 250, 0, "none", 0, None]])
    equal(client.execute_command("SCUR.DEBIT", team, "d1", "token", 251),
          ["CREDIT_LIMIT_REACHED", 0, 6, 0, "limit cap"])


def totals(client):
    shown = as_map(client.execute_command("SCUR.TOTALS"))
    equal((shown["accounts"], shown["sessions"]), (4, 0))
    equal(shown["units"], [["cent", 2800, 0, 6400, 400, 4000, 0, 0, 0, 0, 0]])
    refused(client.flushall, "accounts exist: FLUSHALL FORCE deletes balances for good")


def plain(client):
    equal(client.set("k", BYTES), True)
    equal(client.get("k").encode("utf-8", "surrogateescape"), BYTES)
    equal(client.get("none"), None)
    equal(client.mset({"{t}a": 1, "{t}b": 2}), True)
    equal(client.mget("{t}a", "{t}none", "{t}b"), ["1", None, "2"])
    equal(client.exists("{t}a", "{t}a", "{t}none"), 2)
    equal(client.delete("{t}a", "{t}b", "{t}none"), 2)
    equal(client.ping(), True)
    keys = range(500)
    with client.pipeline(transaction=False) as pipe:
        for number in keys:
            pipe.set(f"p{number}", number)
            pipe.get(f"p{number}")
        equal(pipe.execute(), [reply for number in keys for reply in (True, str(number))])


def transactions(client):
    """EXEC gives every reply; it does nothing when somebody has changed a watched key."""
    with client.pipeline() as pipe:
        equal(pipe.set("{x}n", 1).incr("{x}n").get("{x}n").execute(), [True, 2, "2"])
    with client.pipeline() as pipe:
        pipe.watch("{x}n", "{x}none")
        equal(client.incr("{x}n"), 3)
        pipe.multi()
        pipe.incr("{x}n")
        refused(pipe.execute, "Watched variable changed")
    equal(client.transaction(lambda pipe: pipe.multi() or pipe.incr("{x}n"), "{x}n"), [4])
    with client.pipeline() as pipe:
        refused(pipe.set("{x}n", 1).execute_command("NOSUCH").execute, "Command # 2", "unknown command")
    equal(client.get("{x}n"), "4")


def expiry(client):
    equal(client.set("e", "v", ex=100), True)
    assert 0 < client.ttl("e") <= 100
    equal(client.set("e", "w", keepttl=True), True)
    assert 0 < client.pttl("e") <= 100_000
    equal(client.persist("e"), True)
    equal((client.ttl("e"), client.ttl("none")), (-1, -2))
    equal(client.set("e", "x", nx=True), None)
    equal(client.set("e", "x", xx=True, get=True), "w")
    equal([client.incr("n"), client.incrby("n", 9), client.decr("n")], [1, 10, 9])
    refused(lambda: client.incr("e"), "value is not an integer or out of range")
    equal(client.getdel("n"), "9")
    equal(client.type("e"), "string")
    equal(client.set("f", "v", px=1), True)
    deadline = time.monotonic() + 10
    while client.get("f") is not None:
        assert time.monotonic() < deadline, "a key did not expire"


def connection(client, protocol):
    equal(client.echo("x"), "x")
    equal(client.client_setname("tester"), True)
    equal(client.client_getname(), "tester")
    own = client.client_id()
    listed = [other for other in client.client_list() if int(other["id"]) == own]
    equal((listed[0]["name"], listed[0]["resp"]), ("tester", str(protocol)))
    equal(client.config_get("save")["save"], "")
    equal(client.config_get("requirepass"), {})
    info = client.info()
    equal((info["server_name"], info["accounts"]), ("scurry", 4))
    assert client.command_count() > 30
    equal(client.command_getkeys("SCUR.DEBIT", "alice", "t", "cent", 1), ["alice"])
    commands = client.command()
    equal((commands["scur.get"]["arity"], commands["scur.get"]["first_key_pos"]), (2, 1))


def moved(client, address, protocol):
    """Each node owns slots; a wrong one says MOVED, and a client with a wrong map follows it."""
    nodes = client.get_primaries()
    assert len(nodes) > 1, nodes
    followed = 0
    for number in range(200):
        key = f"p{number}"
        slot = client.keyslot(key)
        equal(int(client.execute_command("CLUSTER KEYSLOT", key, target_nodes=nodes[0])), slot)
        owner = client.nodes_manager.get_node_from_slot(slot)
        wrong = next(node for node in nodes if node.name != owner.name)
        if number < 10:
            options = dict(address, host=wrong.host, port=wrong.port, protocol=protocol)
            with redis.Redis(**options) as direct:
                refused(lambda: direct.get(key), f"{slot} {owner.host}:{owner.port}")
        client.nodes_manager.slots_cache[slot] = [wrong]
        equal(client.set(key, number), True)
        equal(client.get(key), str(number))
        equal(client.nodes_manager.get_node_from_slot(slot).name, owner.name)
        followed += 1
    equal(followed, 200)
    first = client.get_node_from_key("p0")
    with redis.Redis(**dict(address, host=first.host, port=first.port)) as direct:
        refused(lambda: direct.execute_command("MGET", "p0", "p1"), "Keys in request don't hash")


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    mode, protocol, password, parts = sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
    address = dict(host=host, port=int(port), password=None if password == "-" else password)
    options = dict(address, protocol=protocol, decode_responses=True,
                   encoding_errors="surrogateescape")
    parts = parts.split(",")
    if mode == "cluster":
        options["startup_nodes"] = [ClusterNode(options.pop("host"), options.pop("port"))]
        client = RedisCluster(**options)
    else:
        client = redis.Redis(**options)
    with client:
        for part in parts:
            match part:
                case "auth":
                    authentication(address, protocol)
                case "charging":
                    for account in ACCOUNTS:
                        charging(client, account)
                case "chains":
                    for group in GROUPS:
                        chains(client, group)
                case "totals":
                    totals(client)
                case "plain":
                    plain(client)
                case "transactions":
                    transactions(client)
                case "expiry":
                    expiry(client)
                case "connection":
                    connection(client, protocol)
                case "moved":
                    moved(client, address, protocol)
                case _:
                    raise SystemExit(f"unknown part {part}")
    print(f"redis-py {redis.__version__}: {mode} resp{protocol} {','.join(parts)} ok")


main()
