"""What the documentation tells agents to send is what we map, in configurations that their programs accept."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from monitoring import mapping

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "telemetry-doors.md").read_text()
PROMETHEUS, COLLECTOR = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def keep_list() -> re.Pattern:
    return re.compile(yaml.safe_load(PROMETHEUS)["remote_write"][0]["write_relabel_configs"][0]["regex"])


def mapped_names():
    """Every name that a shipped mapping takes or starts by; our own names come through no Prometheus."""
    for system in mapping.shipped().values():
        if system.name == "prfaas":
            continue
        yield from filter(None, [system.start_metric, system.uptime_metric])
        for rule in system.rules:
            yield from (prefix + rule.metric for prefix in rule.prefixes or system.prefixes)


def test_the_keep_list_keeps_all_that_is_mapped():
    keep = keep_list()
    lost = {name for name in mapped_names() if not (keep.fullmatch(name) or keep.fullmatch(f"{name}_bucket"))}
    assert not lost


@pytest.mark.parametrize("name", ["vllm:e2e_request_latency_seconds_bucket", "go_goroutines", "node_cpu_seconds_total"])
def test_the_keep_list_keeps_nothing_else(name):
    assert not keep_list().fullmatch(name)


def test_the_collectors_pipeline_names_what_it_declares():
    config = yaml.safe_load(COLLECTOR)
    pipeline = config["service"]["pipelines"]["metrics/planner"]
    assert set(pipeline["processors"]) == set(config["processors"])
    assert set(pipeline["exporters"]) == set(config["exporters"])


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool: apt-get install prometheus")
def test_prometheus_accepts_its_configuration(tmp_path):
    token = tmp_path / "token"
    token.write_text("secret")
    config = tmp_path / "prometheus.yml"
    config.write_text(PROMETHEUS.replace("/etc/prometheus/planner-token", str(token)))
    checked = subprocess.run(["promtool", "check", "config", str(config)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
