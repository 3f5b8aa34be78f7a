"""CPU time per operation of charging over HTTP and over RESP: the same debits, on one store without durability,
sent one after another on each of a few connections. It starts a store with a door beside its engine and a door in a
process of its own, debits through each in turn, and divides the CPU time that their threads took by the operations
that were answered. The loader is not measured; it only has to keep them busy. `cargo xtask figures --only doors`
calls it.

usage: bench-http.py SCURRY SECONDS CONNECTIONS RUNS FILE
"""

import itertools
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")


def start(ports, *arguments):
    """A process that has said where it listens, and its ports."""
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    found = []
    for line in process.stderr:
        found += re.findall(r"127\.0\.0\.1:(\d+)", line)
        if len(found) >= ports:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, [int(port) for port in found]
    sys.exit(f"bench-http: {arguments[1]} did not start")


def cpu_s():
    """User and system time so far of the doors and of the store, s: a door beside the engine is a thread of it."""
    doors = stores = 0
    for process in (door, store):
        for task in os.listdir(f"/proc/{process.pid}/task"):
            with open(f"/proc/{process.pid}/task/{task}/stat") as stat:
                name, rest = stat.read().split(" (", 1)[1].rsplit(") ", 1)
            fields = rest.split()
            ticks = int(fields[11]) + int(fields[12])
            if process is door or name == "http":
                doors += ticks
            else:
                stores += ticks
    return doors / TICKS, stores / TICKS


def resp(*words):
    parts = [f"*{len(words)}\r\n"] + [f"${len(word)}\r\n{word}\r\n" for word in words]
    return "".join(parts).encode()


def resp_debit(account, key):
    return resp("SCUR.DEBIT", account, key, "cent", "1")


def http_debit(account, key):
    body = '{"unit":"cent","amount":1}'
    return (
        f"POST /v1/accounts/{account}/debits HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Idempotency-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def resp_answered(answer):
    assert answer.startswith((b"*4\r\n+OK", b"*4\r\n+CREDIT")), answer
    return answer.count(b"\r\n") >= 5


def http_answered(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"[: len(head)]), answer
    length = re.search(rb"content-length: (\d+)", head)
    return bool(length) and len(body) >= int(length[1])


def load(port, make, answered, run, seconds, connections):
    """How many operations were answered."""
    until = time.monotonic() + seconds
    counts = []

    def one(number):
        stream = socket.create_connection(("127.0.0.1", port))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        count = 0
        for turn in itertools.count():
            if time.monotonic() >= until:
                break
            # Each account takes a few keys only: they are remembered for an hour.
            account = f"{run}-{number}-{turn // 200}"
            if turn % 200 == 0:
                creator = socket.create_connection(("127.0.0.1", store_port))
                creator.sendall(resp("SCUR.CREATE", account, "BUCKET", "main", "cent", "1000000"))
                assert creator.recv(100).startswith(b"*2\r\n+OK")
                creator.close()
            stream.sendall(make(account, f"k{turn % 200}"))
            answer = b""
            while not answered(answer) if answer else True:
                answer += stream.recv(4096)
            count += 1
        counts.append(count)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == connections, "a connection failed"
    return sum(counts)


scurry, seconds, connections, runs = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
store, (store_port, beside_port) = start(
    2, scurry, "serve", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--durability", "none",
    "--log", "warn",
)  # fmt: skip
door, (door_port,) = start(
    1, scurry, "http", "--listen", "127.0.0.1:0", "--store", f"127.0.0.1:{store_port}", "--log", "warn"
)
BESIDE = "http, beside the engine"
rows = {name: {"interface": name, "runs": []} for name in ("resp", BESIDE, "http")}
try:
    print(f"{'interface':24} {'operations':>11} {'door us/op':>11} {'store us/op':>12} {'both us/op':>11}")
    for run in range(runs):
        for name, port, make, answered in (
            ("resp", store_port, resp_debit, resp_answered),
            (BESIDE, beside_port, http_debit, http_answered),
            ("http", door_port, http_debit, http_answered),
        ):
            before = cpu_s()
            account = "".join(filter(str.isalnum, name))
            count = load(port, make, answered, f"{account}{run}", seconds, connections)
            door_us, store_us = ((now - then) / count * 1e6 for now, then in zip(cpu_s(), before, strict=True))
            both_us = door_us + store_us
            print(f"{name:24} {count:11} {door_us:11.1f} {store_us:12.1f} {both_us:11.1f}")
            rows[name]["runs"].append(
                {"operations": count, "door_us": door_us, "store_us": store_us, "both_us": both_us}
            )
finally:
    for process in (door, store):
        process.terminate()
        process.wait()
with open(sys.argv[5], "w") as file:
    json.dump({"seconds": seconds, "connections": connections, "rows": list(rows.values())}, file, indent=2)
    file.write("\n")
