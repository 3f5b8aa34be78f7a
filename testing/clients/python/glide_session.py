"""A charging session and plain commands through Valkey GLIDE. See ../README.md for the arguments."""

import asyncio
import importlib.metadata
import sys
import time

from glide import (Batch, ExpirySet, ExpiryType, GlideClient, GlideClientConfiguration,
                   GlideClusterClient, GlideClusterClientConfiguration, NodeAddress,
                   ProtocolVersion, RequestError, ServerCredentials)
from glide import ClosingError, ConfigurationError

ACCOUNTS = ("alice", "bob", "carol", "dave")
GROUPS = ("north", "south", "east", "west")
BYTES = b"\x00\r\n\xff$*"


def text(reply):
    """Bytes as text, all the way down."""
    match reply:
        case bytes():
            return reply.decode("utf-8", "surrogateescape")
        case list():
            return [text(part) for part in reply]
        case dict():
            return {text(key): text(value) for key, value in reply.items()}
    return reply


def as_map(reply):
    """RESP3 gives a dict, RESP2 a flat list."""
    if isinstance(reply, dict):
        return reply
    return dict(zip(reply[::2], reply[1::2]))


def equal(got, expected):
    assert got == expected, f"expected {expected!r}, got {got!r}"


async def refused(call, word):
    try:
        got = await call
    except (RequestError, ClosingError, ConfigurationError) as error:
        assert word in str(error), f"{error!r}"
    else:
        raise AssertionError(f"not refused: {got!r}")


async def connect(address, mode, protocol, password):
    host, port = address.rsplit(":", 1)
    client, configuration = (GlideClusterClient, GlideClusterClientConfiguration) \
        if mode == "cluster" else (GlideClient, GlideClientConfiguration)
    return await client.create(configuration(
        [NodeAddress(host, int(port))],
        credentials=None if password == "-" else ServerCredentials(password),
        protocol=ProtocolVersion.RESP3 if protocol == 3 else ProtocolVersion.RESP2,
        request_timeout=20_000,
        client_name="tester",
    ))


async def authentication(address, protocol):
    # A client that may not come in tries for a while, and then says so.
    await refused(connect(address, "single", protocol, "wrong"), "")
    await refused(connect(address, "single", protocol, "-"), "")


async def charging(client, account):
    async def run(name, *arguments):
        words = [f"SCUR.{name}", account, *(str(argument) for argument in arguments)]
        return text(await client.custom_command(words))

    equal(await run("CREATE", "BUCKET", "main", "cent", 1000, "FLOOR", -50,
                    "BUCKET", "gift", "cent", 100, "PRIORITY", -1), ["OK", 1])
    await refused(run("CREATE"), "ACCOUNT_EXISTS")
    equal(await run("TOPUP", "t1", "main", 500), ["OK", 0, 2, 1500])
    equal(await run("TOPUP", "t1", "main", 500), ["OK", 1, 2, 1500])
    await refused(run("TOPUP", "t1", "main", 501), "REQUEST_MISMATCH")
    equal(await run("RESERVE", "s1", 0, "ITEM", 1, "cent", "REQUESTED", 300),
          ["OK", 0, 1, [[1, "OK", 300, 0, 0]]])
    update = ("UPDATE", "s1", 1, "ITEM", 1, "cent", "USED", 250, "REQUESTED", 5000)
    equal(await run(*update), ["OK", 0, 2, [[1, "OK", 1400, 1, 0]]])
    equal(await run(*update), ["OK", 1, 2, [[1, "OK", 1400, 1, 0]]])
    equal(await run("CHECK", "cent", 1), ["CREDIT_LIMIT_REACHED", 0, "balance"])
    equal(await run("TERMINATE", "s1", 2, "ITEM", 1, "cent", "USED", 350),
          ["OK", 0, 0, [[1, "OK", 0, 0, 0]]])
    await refused(run("SESSION", "s1"), "UNKNOWN_SESSION")
    shown = as_map(await run("GET"))
    equal(shown["buckets"][0], ["main", "cent", 1000, 0, -50, 0, 0, None])
    await refused(client.get(account), "WRONGTYPE")


async def chains(client, group):
    """Three accounts of one hash slot; the second has a limit."""
    accounts = [f"{{{group}}}", f"{{{group}}}:team", f"{{{group}}}:key"]
    team = accounts[1]

    async def run(*words):
        return text(await client.custom_command([str(word) for word in words]))

    async def chain(*command):
        links = [word for account in accounts for word in (account, len(command), *command)]
        return await run("SCUR.CHAIN", *links)

    for account in accounts:
        equal(await run("SCUR.CREATE", account, "BUCKET", "main", "token", 1000), ["OK", 1])
    equal(await run("SCUR.LIMIT", team, "l1", "cap", "UNIT", "token", "AMOUNT", 500),
          ["OK", 0, 2, 500])
    reserve = ("RESERVE", "s1", 0, "ITEM", "input", "token", "REQUESTED", 300)
    for replayed in (0, 1):
        link = ["OK", replayed, 1, [["input", "OK", 300, 0, 0]]]
        equal(await chain(*reserve), ["OK", replayed, 0, [link] * 3])
    other = ["CHAIN_DENIED", 0, 0, [["input", "CHAIN_DENIED", 0, 0, 0, "chain"]]]
    denied = ["CREDIT_LIMIT_REACHED", 0, 0,
              [["input", "CREDIT_LIMIT_REACHED", 0, 1, 0, "limit cap"]]]
    equal(await chain("RESERVE", "s2", 0, "ITEM", "input", "token", "REQUESTED", 300, "MIN", 300),
          ["CREDIT_LIMIT_REACHED", 0, 2, [other, denied, other]])
    equal(await chain("TERMINATE", "s1", 1, "ITEM", "input", "token", "USED", 250),
          ["OK", 0, 0, [["OK", 0, 0, [["input", "OK", 0, 0, 0]]]] * 3])
    shown = as_map(await run("SCUR.GET", team))
    equal(shown["limits"], [["cap", "token", None, 500, 250, 0, 250, 0, "none", 0, None]])
    equal(await run("SCUR.DEBIT", team, "d1", "token", 251),
          ["CREDIT_LIMIT_REACHED", 0, 6, 0, "limit cap"])


async def plain(client):
    equal(await client.set("k", BYTES), "OK")
    equal(await client.get("k"), BYTES)
    equal(await client.get("none"), None)
    equal(await client.mset({"{t}a": "1", "{t}b": "2"}), "OK")
    equal(await client.mget(["{t}a", "{t}none", "{t}b"]), [b"1", None, b"2"])
    equal(await client.exists(["{t}a", "{t}a", "{t}none"]), 2)
    equal(await client.delete(["{t}a", "{t}b", "{t}none"]), 2)
    equal(await client.ping(), b"PONG")
    pipe = Batch(is_atomic=False)
    for number in range(500):
        pipe.set(f"p{number}", str(number))
        pipe.get(f"p{number}")
    expected = [reply for number in range(500) for reply in ("OK", str(number).encode())]
    equal(await client.exec(pipe, raise_on_error=True), expected)


async def transactions(client):
    """EXEC gives every reply; it does nothing when somebody has changed a watched key."""
    pipe = Batch(is_atomic=True)
    pipe.set("{x}n", "1").incr("{x}n").get("{x}n")
    equal(await client.exec(pipe, raise_on_error=True), ["OK", 2, b"2"])
    await client.watch(["{x}n", "{x}none"])
    equal(await client.incr("{x}n"), 3)
    pipe = Batch(is_atomic=True)
    pipe.incr("{x}n")
    equal(await client.exec(pipe, raise_on_error=True), None)
    equal(await client.get("{x}n"), b"3")


async def expiry(client):
    equal(await client.set("e", "v", expiry=ExpirySet(ExpiryType.SEC, 100)), "OK")
    assert 0 < await client.ttl("e") <= 100
    equal(await client.persist("e"), True)
    equal((await client.ttl("e"), await client.ttl("none")), (-1, -2))
    equal([await client.incr("n"), await client.incrby("n", 9), await client.decr("n")], [1, 10, 9])
    await refused(client.incr("e"), "value is not an integer or out of range")
    equal(await client.getdel("n"), b"9")
    equal(await client.set("f", "v", expiry=ExpirySet(ExpiryType.MILLSEC, 1)), "OK")
    deadline = time.monotonic() + 10
    while await client.get("f") is not None:
        assert time.monotonic() < deadline, "a key did not expire"


async def main():
    address, mode, protocol, password, parts = sys.argv[1:6]
    client = await connect(address, mode, int(protocol), password)
    for part in parts.split(","):
        match part:
            case "auth":
                await authentication(address, int(protocol))
            case "charging":
                for account in ACCOUNTS:
                    await charging(client, account)
            case "chains":
                for group in GROUPS:
                    await chains(client, group)
            case "plain":
                await plain(client)
            case "transactions":
                await transactions(client)
            case "expiry":
                await expiry(client)
            case _:
                raise SystemExit(f"unknown part {part}")
    await client.close()
    version = importlib.metadata.version("valkey-glide")
    print(f"valkey-glide {version}: {mode} resp{protocol} {parts} ok")


asyncio.run(main())
