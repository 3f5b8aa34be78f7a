"""Starts the three nodes that the chart renders, as a cluster would, under load: killed and made anew at another
address, all three at once too, updated one after the other, a volume lost. What was acknowledged is there in the
end, once. Runs in a network and mounts of its own.
Before, the one machine that it renders becomes the first of three.
usage: group.py WORK SINGLE GROUP SCURRY SHELL"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import yaml

from cluster import PATIENCE, Cluster, until

PASSWORD = "a long random word"
CREDIT = 1_000_000_000


class Refused(Exception):
    pass


class Client:
    """A connection that says RESP2."""

    def __init__(self, address):
        self.socket = socket.create_connection((address, 6389), timeout=5)
        self.file = self.socket.makefile("rb")
        self.ask("AUTH", PASSWORD)

    def ask(self, *words):
        parts = [word.encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the connection ended")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise Refused(rest)
        if kind == b"$" and rest != "-1":
            return self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return rest


class Load(threading.Thread):
    """Debits one account a cent at a time, each with an id, again until it is acknowledged."""

    def __init__(self, number, addresses):
        super().__init__(daemon=True)
        self.account, self.addresses, self.next = f"account-{number}", addresses, number
        self.acknowledged, self.ends, self.error = 0, False, None

    def run(self):
        try:
            self.until_done("SCUR.CREATE", self.account, "BUCKET", "main", "cent", str(CREDIT))
            while not self.ends:
                self.until_done("SCUR.DEBIT", self.account, f"debit-{self.acknowledged}", "cent", "1")
                self.acknowledged += 1
        except BaseException as error:
            self.error = error

    def until_done(self, *words):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.client = getattr(self, "client", None) or Client(self.addresses[self.next % 3])
                return self.client.ask(*words)
            except (OSError, Refused) as error:
                if isinstance(error, Refused) and "EXISTS" in str(error):
                    return None
                assert time.monotonic() < end, f"{words}: {error}"
                self.client, self.next = None, self.next + 1
                time.sleep(0.02)


def ask(cluster, *words):
    for number in range(3):
        try:
            return Client(cluster.service_address(number)).ask(*words)
        except (OSError, Refused):
            pass
    return ""


def members(cluster):
    found = {}
    for line in re.findall(r"^member\d+:(.*?)\r?$", ask(cluster, "SCUR.REPLICA", "STATUS"), re.M):
        fields = dict(field.split("=", 1) for field in line.split(","))
        found[fields["ip"]] = fields
    return found


def is_whole(cluster):
    """All three pods are ready, and the group can lose any of them."""
    ready = all(pod.is_ready() for pod in cluster.pods.values())
    status = ready and ask(cluster, "SCUR.REPLICA", "STATUS")
    return status and "can_lose_a_node:yes" in status and len(members(cluster)) == 3


def certificates(work, addresses):
    """A CA of this group, and one certificate for the three Services."""
    def openssl(*words):
        done = subprocess.run(["openssl", *words], cwd=work, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-days", "2"]
    openssl("req", "-x509", *key, "-subj", "/CN=nodes", "-keyout", "ca.key", "-out", "ca.crt")
    openssl(
        "req", "-x509", *key, "-subj", "/CN=node", "-addext",
        "subjectAltName=" + ",".join(f"IP:{address}" for address in addresses),
        "-addext", "basicConstraints=critical,CA:FALSE",
        "-CA", "ca.crt", "-CAkey", "ca.key", "-keyout", "tls.key", "-out", "tls.crt",
    )
    return {name: open(f"{work}/{name}").read() for name in ["tls.crt", "tls.key", "ca.crt"]}


def main(work, single, group, scurry, shell):
    programs = {"/usr/bin/scurry": [scurry], "sh": shell.split()}
    secrets = {"scurry-password": {"password": PASSWORD}}

    def cluster_of(manifest, place):
        objects = [each for each in yaml.safe_load_all(open(manifest)) if each]
        return Cluster(os.path.join(work, place), objects, secrets, programs)

    addresses = [cluster_of(group, "three").service_address(number) for number in range(3)]
    secrets["scurry-nodes"] = certificates(work, addresses)
    grow(cluster_of(single, "one"), cluster_of(group, "one"))
    play(cluster_of(group, "three"), addresses)


@contextlib.contextmanager
def ended(cluster):
    """Ends the pods; what they said is shown where it went wrong."""
    try:
        yield
    except BaseException:
        for pod in cluster.pods.values():
            print(f"-- {pod.name}:\n{pod.said()}", file=sys.stderr)
        raise
    finally:
        cluster.end()


def begin_group(pod):
    """What a person does once, as the notes of the chart say."""
    pod.exec("/usr/bin/scurry", "replica", "init", "--dir", "/var/lib/scurry/store")


def together(cluster, numbers):
    starts = [threading.Thread(target=cluster.start, args=[number], daemon=True) for number in numbers]
    [start.start() for start in starts]
    [start.join() for start in starts]


def grow(single, group):
    say("one machine, which becomes the first of three")
    with ended(single):
        pod = single.start(0)
        until("it is ready", pod.is_ready)
        Client(pod.address).ask("SCUR.CREATE", "alice", "BUCKET", "main", "cent", "12345")
        begin_group(pod)
        pod.stop()
    with ended(group):
        together(group, range(3))
        until("the group is whole", lambda: is_whole(group))
        shown = str(ask(group, "SCUR.GET", "alice"))
        assert "'12345'" in shown, shown


def play(cluster, addresses):
    with ended(cluster):
        play_under_load(cluster, addresses)


def play_under_load(cluster, addresses):
    say("three pods on empty volumes: they wait until somebody says, once, that a group begins")
    together(cluster, range(3))
    for pod in cluster.pods.values():
        until("it waits", lambda pod=pod: "not admitted yet" in pod.said())
        assert pod.is_alive() and not pod.is_ready(), pod.said()
    begin_group(cluster.pods[0])
    until("the group is whole", lambda: is_whole(cluster))
    assert sorted(members(cluster)) == addresses, "a node is reached at the address of its Service"
    identities = {ip: member["id"] for ip, member in members(cluster).items()}

    loads = [Load(number, addresses) for number in range(3)]
    [load.start() for load in loads]
    until("the load runs", lambda: all(load.acknowledged > 50 for load in loads))

    for number in (1, 2, 0):
        say(f"node {number} is killed, and made anew at another address")
        before = cluster.pods[number].address
        cluster.pods[number].end(signal.SIGKILL)
        assert cluster.start(number).address != before
        until("the group is whole", lambda: is_whole(cluster))

    say("all are killed; one alone is alive and not ready")
    [pod.end(signal.SIGKILL) for pod in cluster.pods.values()]
    alone = cluster.start(2)
    until("it is alive", lambda: alone.probe("livenessProbe") == 200)
    until("it says that it is not ready", lambda: alone.probe("readinessProbe") == 503)
    together(cluster, [0, 1])
    until("the group is whole", lambda: is_whole(cluster))

    say("an update: one after the other, the last one first")
    for number in (2, 1, 0):
        cluster.pods[number].stop()
        pod = cluster.start(number)
        until("it is ready", pod.is_ready)
        time.sleep(cluster.set["spec"]["minReadySeconds"])
    until("the group is whole", lambda: is_whole(cluster))
    found = {ip: member["id"] for ip, member in members(cluster).items()}
    assert found == identities, f"a node is another one: {identities}, then {found}"

    say("node 0 loses its volume: it begins no other group")
    lost = cluster.pods[0]
    lost.end(signal.SIGKILL)
    shutil.rmtree(lost.dir_of("claim"))
    refused = cluster.start(0)
    until("it does not start", lambda: not refused.is_alive())
    assert refused.process.returncode != 0 and identities[addresses[0]] in refused.said(), refused.said()

    say("node 0 takes its own place")
    settings = cluster.objects["ConfigMap", cluster.name]["data"]
    settings["replace-node"], settings["replace-id"] = "0", identities[addresses[0]]
    shutil.rmtree(refused.dir_of("claim"))
    cluster.start(0)
    until("the group is whole", lambda: is_whole(cluster))
    assert members(cluster)[addresses[0]]["id"] != identities[addresses[0]]
    say("and is started again with these values")
    for number in (0, 1):
        cluster.pods[number].stop()
        cluster.start(number)
        until("the group is whole", lambda: is_whole(cluster))

    for load in loads:
        load.ends = True
        load.join(PATIENCE)
        assert load.error is None, load.error
        shown = str(ask(cluster, "SCUR.GET", load.account))
        left = CREDIT - load.acknowledged
        assert f"'{left}'" in shown, f"{load.acknowledged} debits of 1 were acknowledged: {shown}"
    say(f"{sum(load.acknowledged for load in loads)} debits were acknowledged, and each was done once")


def say(text):
    print(f"release: {text}", flush=True)


main(*sys.argv[1:])
