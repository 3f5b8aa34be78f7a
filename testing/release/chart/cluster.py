"""What a cluster does with the pods of a rendered chart, as far as a test needs it: each pod is processes in a
network of its own with an address of its own, and another one each time that it is made anew. A Service is an
address that is routed to its pod. What a container runs, with which environment and files, is read from the
manifest alone; paths of volumes become directories of the test."""

import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

# A bound of waiting for a state, in seconds: nothing here takes as long, but a machine can stall.
PATIENCE = 180


def until(what, check):
    """Waits until `check` gives something true, and returns it."""
    end = time.monotonic() + PATIENCE
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < end, f"not within {PATIENCE} s: {what}"
        time.sleep(0.05)


def run(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


class Cluster:
    def __init__(self, work, objects, secrets, programs):
        """`programs`: what stands for the programs of the images, by their names in the manifest."""
        self.work, self.secrets, self.programs = work, secrets, programs
        self.objects = {(each["kind"], each["metadata"]["name"]): each for each in objects}
        (self.set,) = [each for each in objects if each["kind"] == "StatefulSet"]
        self.name = self.set["metadata"]["name"]
        self.pods = {}
        with open("/proc/sys/net/ipv4/ip_forward", "w") as file:
            file.write("1")
        run("ip", "link", "set", "lo", "up")

    @property
    def spec(self):
        return self.set["spec"]["template"]["spec"]

    def service_address(self, number):
        """The address of the Service of this pod alone, which stays as long as the Service is there; or none."""
        is_there = ("Service", f"{self.name}-{number}") in self.objects
        return f"10.96.0.{10 + number}" if is_there else None

    def service_environment(self):
        found = {}
        if self.spec.get("enableServiceLinks", True):
            for kind, name in self.objects:
                match = re.fullmatch(re.escape(self.name) + r"-(\d)", name)
                if kind == "Service" and match:
                    variable = name.upper().replace("-", "_") + "_SERVICE_HOST"
                    found[variable] = self.service_address(int(match[1]))
        return found

    def start(self, number):
        self.pods[number] = Pod(self, number, self.pods.get(number))
        return self.pods[number]

    def end(self):
        for pod in self.pods.values():
            pod.end(signal.SIGKILL)


class Pod:
    def __init__(self, cluster, number, before):
        assert before is None or not before.is_alive(), "a name belongs to one pod at a time"
        self.cluster, self.number = cluster, number
        self.name = f"{cluster.name}-{number}"
        self.dir = os.path.join(cluster.work, self.name)
        self.made = before.made + 1 if before else 1
        self.network = f"pod{number}"
        self.address = f"10.1.{number}.{1 + self.made}"
        self.process = None
        shutil.rmtree(os.path.join(self.dir, "once"), ignore_errors=True)
        self.lay_network()
        self.log = open(os.path.join(self.dir_of("log"), f"{self.made}.log"), "ab")
        for container in cluster.spec.get("initContainers", []):
            # A cluster tries one that has failed again.
            until(f"{container['name']} of {self.name}", lambda: self.begin(container).wait() == 0)
        (self.container,) = cluster.spec["containers"]
        self.process = self.begin(self.container)

    def lay_network(self):
        subprocess.run(["ip", "netns", "del", self.network], stderr=subprocess.DEVNULL, check=False)
        run("ip", "netns", "add", self.network)
        gate, link = f"10.1.{self.number}.1", f"veth{self.number}"
        subprocess.run(["ip", "link", "del", link], stderr=subprocess.DEVNULL, check=False)
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", self.network)
        run("ip", "addr", "add", f"{gate}/24", "dev", link)
        run("ip", "link", "set", link, "up")
        inside = ["ip", "-n", self.network]
        service = self.cluster.service_address(self.number)
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "addr", "add", f"{self.address}/24", "dev", "eth0")
        run(*inside, "link", "set", "eth0", "up")
        run(*inside, "route", "add", "default", "via", gate)
        if service:
            run(*inside, "addr", "add", f"{service}/32", "dev", "lo")
            run("ip", "route", "replace", f"{service}/32", "via", self.address)

    def dir_of(self, *names):
        path = os.path.join(self.dir, *names)
        os.makedirs(path, exist_ok=True)
        return path

    def volume(self, name):
        """The directory that is this volume: of the claim it stays, all others are made with the pod."""
        claims = self.cluster.set["spec"]["volumeClaimTemplates"]
        if name in [claim["metadata"]["name"] for claim in claims]:
            return self.dir_of("claim", name)
        (volume,) = [each for each in self.cluster.spec["volumes"] if each["name"] == name]
        path = self.dir_of("once", name)
        if "configMap" in volume:
            source = self.cluster.objects["ConfigMap", volume["configMap"]["name"]]["data"]
            files = {item["path"]: source[item["key"]] for item in volume["configMap"]["items"]}
        elif "secret" in volume:
            files = self.cluster.secrets[volume["secret"]["secretName"]]
        else:
            files = {}
        for file, text in files.items():
            with open(os.path.join(path, file), "w") as out:
                out.write(text)
        return path

    def environment(self, container):
        found = {"PATH": os.environ["PATH"], **self.cluster.service_environment()}
        for variable in container.get("env", []):
            source = variable.get("valueFrom", {})
            if "fieldRef" in source:
                assert source["fieldRef"]["fieldPath"] == "metadata.name"
                value = self.name
            elif "secretKeyRef" in source:
                value = self.cluster.secrets[source["secretKeyRef"]["name"]][source["secretKeyRef"]["key"]]
            elif "configMapKeyRef" in source:
                ref = source["configMapKeyRef"]
                value = self.cluster.objects["ConfigMap", ref["name"]]["data"][ref["key"]]
            else:
                value = variable["value"]
            # What nothing defines stays as it is.
            value = re.sub(r"\$\((\w+)\)", lambda hit: found.get(hit[1], hit[0]), value)
            found[variable["name"]] = value
        return found

    def exec(self, *words):
        """As kubectl does it, in the container that runs."""
        assert self.begin(self.container, words).wait(PATIENCE) == 0, f"{words}: {self.said()}"

    def begin(self, container, words=()):
        places = {mount["mountPath"]: self.volume(mount["name"]) for mount in container["volumeMounts"]}
        place = re.compile("(?<![\\w.-])(" + "|".join(map(re.escape, places)) + ")(?=/|$)", re.M)

        def here(text):
            return place.sub(lambda hit: places[hit[1]], text)

        for path in places.values():
            for file in os.listdir(path):
                # A script names the paths of its container.
                if file.endswith(".sh"):
                    with open(os.path.join(path, file)) as source:
                        text = source.read()
                    with open(os.path.join(path, file), "w") as out:
                        out.write(here(text))
        words = words or [*container["command"], *container.get("args", [])]
        words = [*self.cluster.programs[words[0]], *map(here, words[1:])]
        return subprocess.Popen(
            ["ip", "netns", "exec", self.network, *words],
            env=self.environment(container), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def probe(self, name):
        """The status that a probe of the manifest gets, or 0."""
        if not self.is_alive():
            return 0
        asked = self.container[name]["httpGet"]
        (port,) = [each["containerPort"] for each in self.container["ports"] if each["name"] == asked["port"]]
        try:
            url = f"http://{self.address}:{port}{asked['path']}"
            return urllib.request.urlopen(url, timeout=self.container[name]["timeoutSeconds"]).status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def is_ready(self):
        return self.probe("startupProbe") == 200 and self.probe("readinessProbe") == 200

    def stop(self):
        """As a cluster ends a pod: the hook, SIGTERM, and no SIGKILL within the time of grace."""
        hook = self.container.get("lifecycle", {}).get("preStop", {})
        time.sleep(hook.get("sleep", {}).get("seconds", 0))
        self.process.send_signal(signal.SIGTERM)
        grace = self.cluster.spec["terminationGracePeriodSeconds"]
        assert self.process.wait(grace) == 0, f"{self.name} ended with {self.process.returncode}"

    def end(self, how):
        if self.is_alive():
            self.process.send_signal(how)
            self.process.wait()

    def said(self):
        with open(self.log.name) as log:
            return log.read()
