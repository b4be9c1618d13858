"""/metrics by Prometheus' own parser, and the dashboard and the alert rules of doc/grafana/."""

import json
import re
import time

import yaml
from prometheus_client.parser import text_string_to_metric_families

from flv import HttpFlv
from media import publisher
from rtc import rtc_weir
from weir import TOP, free_port, wait_until

GRAFANA = TOP / "doc" / "grafana"
NAME = re.compile(r"\b(?:weir|process)_[a-z0-9_]+\b")
LABELS = {"vhost", "app", "stream", "class", "subsystem", "reason", "role", "transport", "version", "le", "level", "hook", "result",
          "for", "file", "name", "state"}


def families(weir):
    """By name; fails when one comes twice or a sample is of no family."""
    found = {}
    for family in text_string_to_metric_families(weir.metrics()):
        assert family.name not in found, f"{family.name} comes twice"
        found[family.name] = family
    return found


def sample_names(weir):
    return {sample.name for family in families(weir).values() for sample in family.samples} | \
        set(re.findall(r"^# TYPE (\w+)", weir.metrics(), re.M))


def test_metrics_keep_the_conventions(new_weir, folder):
    weir = rtc_weir(new_weir)
    with publisher(weir.rtmp(), folder), HttpFlv(weir.http_port, timeout=20):
        weir.wait_live()
        wait_until(lambda: 'role="player",transport="flv"} 1' in weir.metrics(), 20, "the player is counted")
        found = families(weir)
    text = weir.metrics()
    raw = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))
    for family in found.values():
        assert family.type in ("counter", "gauge", "histogram"), (family.name, family.type)
        assert family.documentation.endswith(".") and family.documentation[0].isupper(), (family.name, family.documentation)
        may_be_empty = family.name.startswith(("weir_stream", "weir_tls_certificate_not_after"))
        assert family.samples or may_be_empty, f"{family.name} has no sample"
        for sample in family.samples:
            assert set(sample.labels) <= LABELS, sample
    for name, kind in raw.items():
        assert NAME.fullmatch(name), name
        assert name.endswith("_total") == (kind == "counter"), (name, kind)
        assert not re.search(r"_(ms|us|kib|kbps|percent|minutes)(_total)?$", name), f"{name} is in no base unit"
        assert not name.endswith(("_count", "_sum", "_bucket")), f"{name} looks like a part of a histogram"
    for name in ("process_cpu_seconds", "process_resident_memory_bytes", "process_open_fds", "process_max_fds",
                 "process_start_time_seconds", "process_virtual_memory_bytes", "weir_build_info"):
        assert len(found[name].samples) == 1, name
    started = found["process_start_time_seconds"].samples[0].value
    assert abs(time.time() - started) < 120


def test_histograms_only_grow(weir, folder):
    looks = ("weir_player_lag_seconds_count", None)
    with publisher(weir.rtmp(), folder), HttpFlv(weir.http_port, timeout=20):
        weir.wait_live()

        def buckets():
            return {(sample.name, sample.labels.get("le")): sample.value for family in families(weir).values()
                    if family.type == "histogram" for sample in family.samples}
        before = wait_until(lambda: (now := buckets())[looks] > 0 and now, 20, "a player was looked at")
        after = wait_until(lambda: (now := buckets())[looks] > before[looks] and now, 20, "it was looked at again")
        assert all(after[key] >= value for key, value in before.items())
        assert after[("weir_media_thread_turn_seconds_bucket", "+Inf")] == after[("weir_media_thread_turn_seconds_count", None)]


def test_series_of_streams_are_bounded(new_weir, folder):
    weir = new_weir()
    text = weir.config_path.read_text()
    assert "http_api { listen" in text
    weir.config_path.write_text(text.replace("http_api { listen", "http_api { metrics_per_stream 1; listen"))
    weir.start()
    with publisher(weir.rtmp("live/a"), folder, name="a"), publisher(weir.rtmp("live/b"), folder, name="b"):
        weir.wait_live("a")
        weir.wait_live("b")
        found = families(weir)
        assert [sample.labels["stream"] for sample in found["weir_stream_live"].samples] == ["a"]
        assert found["weir_streams_live"].samples[0].value == 2
        assert found["weir_streams_without_series"].samples[0].value == 1


def expressions(panel):
    yield from (target["expr"] for target in panel.get("targets", []))
    for inner in panel.get("panels", []):
        yield from expressions(inner)


# Of cluster { } with a registry, which the server of these tests has not.
OF_CLUSTERS = {"weir_cluster_registry_up", "weir_cluster_lease_age_seconds", "weir_relay_pulls", "weir_relay_reconnects_total",
               "weir_claims_total", "weir_epoch_conflicts_total"}


def asked_by(dashboard, alerts, uid):
    """All expressions of both files, which are as they should be."""
    dashboard = json.loads((GRAFANA / dashboard).read_text())
    assert dashboard["title"] and dashboard["uid"] == uid
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    asked = [expression for panel in dashboard["panels"] for expression in expressions(panel)]
    for group in yaml.safe_load((GRAFANA / alerts).read_text())["groups"]:
        for rule in group["rules"]:
            assert rule["alert"] and rule["labels"]["severity"] in ("warning", "critical"), rule
            assert rule["annotations"]["summary"] and rule["annotations"]["description"], rule
            asked.append(rule["expr"])
    assert len(asked) > 20
    return asked


def check_names(asked, known):
    histogram_parts = {f"{name}_{part}" for name in known for part in ("bucket", "sum", "count")}
    for expression in asked:
        names = set(NAME.findall(expression))
        assert names or "up{" in expression, expression
        assert names <= known | histogram_parts, names - known
        assert expression.count("(") == expression.count(")") and expression.count("{") == expression.count("}"), expression


def test_dashboard_and_alerts_name_what_there_is(new_weir):
    weir = rtc_weir(new_weir)
    # Series of streams have a head only while nobody publishes.
    asked = asked_by("weir.json", "alerts.yml", "weir")
    alerts = (GRAFANA / "alerts.yml").read_text()
    for condition in ("weir_tls_certificate_not_after_seconds", "weir_player_stalled_total", "weir_log_dropped_total",
                      "weir_hooks_failed_total", "weir_draining", "up{"):
        assert condition in alerts, f"no alert looks at {condition}"
    reasons = {sample.labels["reason"] for sample in families(weir)["weir_refused"].samples}
    for listed in re.findall(r'weir_refused_total\{reason=~"([^"]+)"', alerts):
        assert set(listed.split("|")) <= reasons, reasons
    check_names(asked, sample_names(weir))


def test_the_dashboard_and_the_alerts_of_a_cluster_name_what_there_is(weir):
    asked = asked_by("cluster.json", "cluster-alerts.yml", "weir-cluster")
    check_names(asked, sample_names(weir) | OF_CLUSTERS)
    text = " ".join(asked)
    assert all(name in text for name in OF_CLUSTERS), "each of them is looked at"


def test_the_page_on_monitoring_lists_every_metric(new_weir):
    weir = rtc_weir(new_weir, f"sip_server {{ listen 127.0.0.1:{free_port()}; }} srt_server {{ listen 127.0.0.1:{free_port()}; }}\n"
                              f"cluster {{ registry redis://127.0.0.1:{free_port()}; advertise http://10.0.0.7; secret 0123456789abcdef; }}")
    page = (TOP / "doc" / "monitoring.md").read_text()
    listed = set(re.findall(r"`((?:weir|process)_[a-z0-9_]+)", page))
    served = set(re.findall(r"^# TYPE (\w+)", weir.metrics(), re.M))
    assert served - listed == set(), "not documented"
    of_several_processes = {"weir_process_moved_total", "weir_process_received_total", "weir_process_bridged_total",
                            "weir_process_move_waits_total", "weir_process_move_refused_total", "weir_process_move_lost_total", "weir_rtc_peer_sockets",
                            "weir_rtc_peer_sockets_failed_total", "weir_rtc_passed_total", "weir_rtc_taken_total",
                            "weir_rtc_pass_drops_total"}
    assert {name for name in listed if not name.endswith(("_bucket", "_sum", "_count"))} - served == of_several_processes, \
        "not served"
