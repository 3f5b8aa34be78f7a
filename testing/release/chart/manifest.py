"""Looks at what the chart renders: valid for each version of Kubernetes, names that match each other, no privileges,
and of three nodes all that keeps two of them.
usage: manifest.py MANIFEST NAME VERSION..."""

import re
import sys

import kubernetes_validate
import yaml

manifest, name, *versions = sys.argv[1:]
objects = [each for each in yaml.safe_load_all(open(manifest)) if each]
by_kind = {}
for each in objects:
    by_kind.setdefault(each["kind"], {})[each["metadata"]["name"]] = each
    if each["apiVersion"].startswith("monitoring.coreos.com/"):
        continue
    for version in versions:
        kubernetes_validate.validate(each, version, strict=True)

for service in by_kind["Service"]:
    # What Kubernetes asks of the name of a Service (DNS-1035), which its schemas do not say.
    assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", service), service

((_, stateful),) = by_kind["StatefulSet"].items()
spec = stateful["spec"]
pod = spec["template"]["spec"]
labels = spec["template"]["metadata"]["labels"]
is_group = name.startswith("group")


def selects(selector, also=()):
    return selector and all({**labels, **dict(also)}.get(key) == value for key, value in selector.items())


assert spec["replicas"] == (3 if is_group else 1)
assert selects(spec["selector"]["matchLabels"])
assert spec["serviceName"] in by_kind["Service"], spec["serviceName"]
assert pod["serviceAccountName"] in by_kind["ServiceAccount"]

security = pod["securityContext"]
assert security["runAsNonRoot"] is True and security["runAsUser"] == security["fsGroup"] == 65532
assert security["seccompProfile"] == {"type": "RuntimeDefault"}
assert pod["automountServiceAccountToken"] is False
containers = pod.get("initContainers", []) + pod["containers"]
for container in containers:
    context = container["securityContext"]
    assert context["allowPrivilegeEscalation"] is False and context["readOnlyRootFilesystem"] is True
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert container["resources"]["requests"]
    volumes = {volume["name"] for volume in pod["volumes"]} | {"store"}
    assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    for variable in container.get("env", []):
        reference = variable.get("valueFrom", {}).get("configMapKeyRef")
        assert not reference or reference["key"] in by_kind["ConfigMap"][reference["name"]]["data"], variable
(main,) = pod["containers"]
ports = {port["name"] for port in main["ports"]}
for service in by_kind["Service"].values():
    number = service["metadata"]["name"][-1]
    own = {"statefulset.kubernetes.io/pod-name": f"{stateful['metadata']['name']}-{number}"}
    assert selects(service["spec"]["selector"], own.items()), service
    for port in service["spec"]["ports"]:
        assert port["targetPort"] in ports, port
        (target,) = [each for each in main["ports"] if each["name"] == port["targetPort"]]
        # Clients are told these ports together with the address of the Service.
        assert port["port"] == target["containerPort"], port
assert main["livenessProbe"]["httpGet"]["path"] == "/healthz"
assert main["readinessProbe"]["httpGet"]["path"] == ("/readyz" if is_group else "/healthz")
hook = main.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
assert hook + 30 <= pod["terminationGracePeriodSeconds"]
open_access = "--allow-open-access-without-password" in main["args"]
has_password = any(each["name"] == "SCURRY_REQUIREPASS" for each in main.get("env", []))

if name == "single":
    assert has_password and not open_access
    assert "initContainers" not in pod and not by_kind.get("PodDisruptionBudget")
if name == "single-full":
    assert main["livenessProbe"]["httpGet"]["scheme"] == "HTTPS" and "--tls-cert=/etc/scurry-tls/tls.crt" in main["args"]
    ((_, rule),) = by_kind["PrometheusRule"].items()
    rules = yaml.safe_load(open("docs/grafana/alerts.yml"))
    assert rule["spec"] == rules and rules["groups"], "the rules are other ones"
    ((_, monitor),) = by_kind["ServiceMonitor"].items()
    chosen = [
        each for each in by_kind["Service"].values()
        if monitor["spec"]["selector"]["matchLabels"].items() <= each["metadata"]["labels"].items()
    ]
    assert len(chosen) == 1, "each pod is scraped once"
    assert pod["volumes"][0]["secret"]["secretName"] == "scurry-settings"
if is_group:
    ((_, budget),) = by_kind["PodDisruptionBudget"].items()
    assert budget["spec"]["minAvailable"] == 2 and selects(budget["spec"]["selector"]["matchLabels"])
    assert spec["podManagementPolicy"] == "Parallel" and spec["updateStrategy"] == {"type": "RollingUpdate"}
    assert spec["minReadySeconds"] > 0
    rules = pod["affinity"]["podAntiAffinity"]
    if name == "group":
        (rule,) = rules["requiredDuringSchedulingIgnoredDuringExecution"]
        assert has_password and not open_access
    else:
        (weighted,) = rules["preferredDuringSchedulingIgnoredDuringExecution"]
        rule = weighted["podAffinityTerm"]
        assert open_access
    assert rule["topologyKey"] == "kubernetes.io/hostname" and selects(rule["labelSelector"]["matchLabels"])
    ((_, policy),) = by_kind["NetworkPolicy"].items()
    for rule in policy["spec"]["ingress"]:
        if 7389 in [port["port"] for port in rule["ports"]]:
            (source,) = rule["from"]
            assert selects(source["podSelector"]["matchLabels"])
