"""What packaging/ has for clusters: manifests of Kubernetes by its schemas, compose by its rules, configurations by `weir -t`."""

import copy
import re
import subprocess

import kubernetes_validate
import pytest
import yaml

import manifests
from weir import BINARY, TOP

KUBERNETES = TOP / "packaging" / "kubernetes"
COMPOSE = TOP / "packaging" / "compose" / "compose.yaml"
FOLDERS = ["base", "host-network", "with-redis"]


def config_test(path, variables):
    """What `weir -t` prints; fails unless it accepts the file without a warning."""
    done = subprocess.run([BINARY, "-t", "-c", path], env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30)
    assert done.returncode == 0, done.stdout
    warnings = [line for line in done.stdout.splitlines() if "warning" in line and "root" not in line]
    assert not warnings, warnings
    return done.stdout


def pod_of(resources):
    return resources["StatefulSet", "weir"]["spec"]["template"]["spec"]


def node_of(resources):
    return next(each for each in pod_of(resources)["containers"] if each["name"] == "weir")


# ---- Kubernetes ----


@pytest.mark.parametrize("folder", FOLDERS)
def test_manifests_are_what_kubernetes_takes(folder):
    resources = manifests.build(KUBERNETES / folder)
    assert {kind for kind, _ in resources} >= {"StatefulSet", "Service", "ConfigMap", "PodDisruptionBudget", "HorizontalPodAutoscaler"}
    for resource in resources.values():
        manifests.check(resource)


def test_the_template_of_the_secret_has_what_pods_read():
    (secret,) = manifests.documents(KUBERNETES / "secret.template.yaml")
    manifests.check(secret)
    text = (KUBERNETES / "base" / "weir.conf").read_text()
    assert set(re.findall(r"file:/run/secrets/weir/([\w-]+)", text)) == set(secret["stringData"])
    assert not any(secret["stringData"].values()), "nobody runs with the secrets of an example"


@pytest.mark.parametrize("break_it", [
    lambda sts: sts["spec"]["template"]["spec"].update(terminationGracePeriodSecond=300),
    lambda sts: sts["spec"].update(replicas="two"),
    lambda sts: sts["spec"].pop("selector"),
    lambda sts: sts["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["httpGet"].pop("port"),
    lambda sts: sts["spec"]["template"]["spec"]["containers"][0]["lifecycle"]["preStop"].update(exec={"cmd": ["weir"]}),
])
def test_a_wrong_field_would_be_seen(break_it):
    resource = copy.deepcopy(manifests.build(KUBERNETES / "base")["StatefulSet", "weir"])
    break_it(resource)
    with pytest.raises(kubernetes_validate.ValidationError):
        manifests.check(resource)


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_in_manifests_lead_somewhere(folder):
    resources = manifests.build(KUBERNETES / folder)
    for (kind, name), resource in resources.items():
        if kind == "Service":
            wanted = resource["spec"]["selector"]
            pods = [each["spec"]["template"] for each in resources.values() if each["kind"] in ("StatefulSet", "Deployment")
                    and wanted.items() <= each["spec"]["template"]["metadata"]["labels"].items()]
            assert len(pods) == 1, name
            ports = {port["name"] for container in pods[0]["spec"]["containers"] for port in container["ports"]}
            assert {port["targetPort"] for port in resource["spec"]["ports"]} <= ports, name
        for workload in [resource] if kind in ("StatefulSet", "Deployment") else []:
            pod = workload["spec"]["template"]
            assert workload["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
            volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
            for container in pod["spec"]["containers"]:
                assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
                assert container["securityContext"]["readOnlyRootFilesystem"] and pod["spec"]["securityContext"]["runAsNonRoot"]
                assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    scaled = resources["HorizontalPodAutoscaler", "weir"]["spec"]["scaleTargetRef"]
    assert (scaled["kind"], scaled["name"]) in resources
    assert resources["StatefulSet", "weir"]["spec"]["serviceName"] == "weir-nodes"
    assert resources["Service", "weir-nodes"]["spec"]["publishNotReadyAddresses"], "a node that drains is still pulled from"


def test_the_times_of_an_end_agree():
    resources = manifests.build(KUBERNETES / "base")
    hook = " ".join(node_of(resources)["lifecycle"]["preStop"]["exec"]["command"])
    pause, timeout = int(re.search(r"sleep (\d+)", hook)[1]), int(re.search(r"--timeout (\d+)", hook)[1])
    config = resources["ConfigMap", "weir"]["data"]["weir.conf"]
    drain = int(re.search(r"^drain_timeout (\d+)s;", config, re.M)[1])
    grace = pod_of(resources)["terminationGracePeriodSeconds"]
    assert drain < timeout and pause + timeout < grace, (pause, drain, timeout, grace)


def test_probes_ask_the_right_questions():
    node = node_of(manifests.build(KUBERNETES / "base"))
    asked = {name: node[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert asked["startup"] == asked["liveness"] == {"path": "/healthz", "port": "api"}
    assert asked["readiness"] == {"path": "/readyz", "port": "api"}


def node_variables(container):
    """The environment of a pod, with what Kubernetes would put in."""
    fields = {"metadata.name": "weir-0", "metadata.namespace": "media", "status.hostIP": "192.0.2.7"}
    variables = {}
    for each in container["env"]:
        value = fields[each["valueFrom"]["fieldRef"]["fieldPath"]] if "valueFrom" in each else each["value"]
        variables[each["name"]] = re.sub(r"\$\((\w+)\)", lambda match: variables[match[1]], value)
    return variables


def test_the_configuration_of_a_pod_is_good(tmp_path):
    resources = manifests.build(KUBERNETES / "base")
    variables = node_variables(node_of(resources))
    assert variables["WEIR_CLUSTER_ADVERTISE"] == "http://weir-0.weir-nodes.media.svc:8080"
    for name in ("cluster-secret", "redis-password", "api-token", "publish-key"):
        (tmp_path / name).write_text(f"{name} of a test\n")
    text = resources["ConfigMap", "weir"]["data"]["weir.conf"].replace("/run/secrets/weir/", f"{tmp_path}/")
    (tmp_path / "weir.conf").write_text(text.replace("/usr/share/weir/www", str(TOP / "objs" / "www")))
    config_test(tmp_path / "weir.conf", variables)
    # And what it comes to.
    dump = subprocess.run([BINARY, "--dump-config", "-c", tmp_path / "weir.conf"], env=variables, capture_output=True, text=True).stdout
    assert re.search(r"cluster\.node .*weir-0|node weir-0;", dump), dump
    assert "of a test" not in dump


def test_the_autoscaler_asks_for_what_the_adapter_gives(weir):
    metric = manifests.build(KUBERNETES / "base")["HorizontalPodAutoscaler", "weir"]["spec"]["metrics"][0]["pods"]["metric"]["name"]
    (rule,) = yaml.safe_load((KUBERNETES / "prometheus-adapter.yaml").read_text())["rules"]["custom"]
    assert rule["name"]["as"] == metric
    served = weir.metrics()
    for name in re.findall(r"weir_\w+", rule["seriesQuery"] + rule["metricsQuery"]):
        assert f"# TYPE {name} counter" in served, name


# ---- docker compose ----


def compose():
    return yaml.safe_load(COMPOSE.read_text())


def filled(value):
    """${NAME:-default} as nobody sets it."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", str(value))


def test_compose_has_two_nodes_and_a_registry():
    services = compose()["services"]
    assert set(services) == {"weir-1", "weir-2", "redis"}
    published = [port.split(":")[0] + ("/udp" if port.endswith("/udp") else "") for each in services.values() for port in each.get("ports", [])]
    assert len(published) == len(set(published)), "a port of the machine is used twice"
    known = {"image", "restart", "stop_signal", "stop_grace_period", "read_only", "tmpfs", "cap_drop", "security_opt", "depends_on",
             "environment", "ports", "command", "healthcheck"}
    for name, service in services.items():
        assert set(service) <= known, set(service) - known
        assert set(service.get("depends_on", {})) <= set(services) and service["read_only"], name
        if name != "redis":
            variables = service["environment"]
            assert variables["WEIR_CLUSTER_NODE"] == name and f"//{name}:" in variables["WEIR_CLUSTER_ADVERTISE"]
            grace, drain = (int(text.removesuffix("s")) for text in (service["stop_grace_period"], variables["WEIR_DRAIN_TIMEOUT"]))
            assert drain < grace
    assert "ports" not in services["redis"], "nobody outside reaches Redis"


# Of conf/docker.conf, but the API: `listen` of a block is UDP where its protocol is, and `rtp_listen` has RTCP behind it.
PORTS = {"1935", "8080", "8000/udp", "8000", "8554", "8556-8557/udp", "10080/udp"}


def test_a_container_shows_every_port_that_it_listens_on():
    config = re.sub(r"http_api \{.*?\}", "", (TOP / "conf" / "docker.conf").read_text(), flags=re.S)
    listened = set(re.findall(r"listen (\d+);", config))
    assert listened == {re.split(r"[-/]", port)[0] for port in PORTS}
    exposed = re.search(r"^EXPOSE (.*)$", (TOP / "Dockerfile").read_text(), re.M)[1].split()
    assert set(exposed) == PORTS
    inside = {port.split(":")[1] for port in compose()["services"]["weir-1"]["ports"]}
    assert inside == PORTS - {"8556-8557/udp"}, "RTSP goes by TCP there"


@pytest.mark.parametrize("node", ["weir-1", "weir-2"])
def test_the_configuration_of_a_container_is_good(node, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "objs").symlink_to(TOP / "objs")
    (tmp_path / "conf" / "docker.conf").write_text((TOP / "conf" / "docker.conf").read_text())
    variables = {name: filled(value) for name, value in compose()["services"][node]["environment"].items()}
    config_test(tmp_path / "conf" / "docker.conf", variables)
