"""What the documentation gives agents to paste: read whole, with addresses of ours, keeping what we map."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from django.urls import reverse

from monitoring import mapping
from monitoring.doors import websocket
from tests.monitoring.senders import application

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "telemetry-senders.md").read_text()
HOST = "planner.example"
BLOCKS = {
    title: re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    for title, text in (part.split("\n", 1) for part in PAGE.split("\n## ")[1:])
}
PROGRAMS = {"Prometheus", "OpenTelemetry Collector", "Alloy", "Telegraf", "Vector", "gnmic"}


def configurations(title):
    """Each as what its format says it is."""
    readers = {"yaml": yaml.safe_load, "toml": tomllib.loads, "alloy": read_alloy}
    return [readers[kind](text) for kind, text in BLOCKS[title]]


# --- Alloy's syntax ----------------------------------------------------------------------------------------------

TOKEN = re.compile(r'//[^\n]*|\s+|("(?:[^"\\]|\\.)*")|([\w.]+)|([{}\[\]()=,])')


def read_alloy(text):
    """Its blocks as (name, label, attributes, blocks); every token is known and every bracket closed."""
    tokens, at = [], 0
    while at < len(text):
        found = TOKEN.match(text, at)
        assert found, f"no token of Alloy's: {text[at : at + 30]!r}"
        at = found.end()
        tokens += [each for each in found.groups() if each]
    attributes, blocks = _body(tokens)
    assert (tokens, attributes) == ([], {})
    return blocks


def _body(tokens):
    attributes, blocks = {}, []
    while tokens and tokens[0] != "}":
        name = tokens.pop(0)
        assert re.fullmatch(r"[\w.]+", name)
        if tokens[0] == "=":
            tokens.pop(0)
            attributes[name] = _value(tokens)
            continue
        label = tokens.pop(0).strip('"') if tokens[0].startswith('"') else ""
        assert tokens.pop(0) == "{"
        blocks.append((name, label, *_body(tokens)))
        assert tokens.pop(0) == "}"
    return attributes, blocks


def _value(tokens):
    """Its tokens: as many as its brackets need, and what is called."""
    found = [tokens.pop(0)]
    while found.count("(") + found.count("[") + found.count("{") > sum(map(found.count, ")]}")) or tokens[:1] == ["("]:
        found.append(tokens.pop(0))
    return " ".join(found)


# --- all of them -------------------------------------------------------------------------------------------------


def test_there_is_a_configuration_for_each_program():
    assert set(BLOCKS) == PROGRAMS
    assert all(BLOCKS.values())


@pytest.mark.parametrize("title", sorted(PROGRAMS))
def test_it_is_read_whole_by_its_format(title):
    assert all(configurations(title))


def test_every_address_is_one_of_ours():
    ours = {
        f"https://{HOST}{reverse('prometheus-write')}",
        f"wss://{HOST}/ws/ingest/",
        # to which the program itself appends the path of OTLP
        f"https://{HOST}{reverse('otlp-metrics')}".removesuffix("/v1/metrics"),
    }
    code = "\n".join(text for blocks in BLOCKS.values() for _, text in blocks)
    assert set(re.findall(rf'\w+://{HOST}[^"\s]*', code)) == ours


async def test_the_websockets_address_is_the_doors():
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(event):
        sent.append(event)

    scope = {"type": "websocket", "path": "/ws/ingest/", "query_string": b"", "headers": []}
    await application(scope, receive, send)
    assert sent[-1]["code"] == websocket.NO_TOKEN  # it asks for a token: it is the door


@pytest.mark.parametrize("title", sorted(PROGRAMS))
def test_the_token_is_sent_as_a_bearers_and_is_in_no_configuration(title):
    for _, text in BLOCKS[title]:
        assert re.search(r"bearer", text, re.IGNORECASE)
        assert re.search(r"PLANNER_TOKEN|planner-token", text)


# --- Prometheus --------------------------------------------------------------------------------------------------


def keep_list() -> re.Pattern:
    [config] = configurations("Prometheus")
    return re.compile(config["remote_write"][0]["write_relabel_configs"][0]["regex"])


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


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool: apt-get install prometheus")
def test_prometheus_accepts_its_configuration(tmp_path):
    token = tmp_path / "token"
    token.write_text("secret")
    config = tmp_path / "prometheus.yml"
    config.write_text(BLOCKS["Prometheus"][0][1].replace("/etc/prometheus/planner-token", str(token)))
    checked = subprocess.run(["promtool", "check", "config", str(config)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


# --- what each names within itself -------------------------------------------------------------------------------


def test_the_collectors_pipeline_names_what_it_declares():
    [config] = configurations("OpenTelemetry Collector")
    pipeline = config["service"]["pipelines"]["metrics/planner"]
    for kind in ("receivers", "processors", "exporters"):
        assert set(pipeline[kind]) == set(config[kind])


def test_alloys_components_are_named_as_they_are_declared():
    declared, named = set(), set()
    for blocks in configurations("Alloy"):
        declared |= {f"{name}.{label}" for name, label, _, _ in blocks}
        named |= set(re.findall(r"((?:prometheus|otelcol)\.[\w.]+)\.(?:receiver|input|handler)\b", str(blocks)))
    assert named
    assert named <= declared


def test_vectors_sinks_take_from_sources_and_secrets_that_are_declared():
    for config in configurations("Vector"):
        for sink in config["sinks"].values():
            assert set(sink["inputs"]) <= set(config["sources"])
            assert re.fullmatch(r"SECRET\[(\w+)\.[\w-]+\]", sink["auth"]["token"])[1] in config["secret"]
