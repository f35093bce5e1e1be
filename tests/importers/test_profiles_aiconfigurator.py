"""The package is not among the requirements: a stand-in of its calls shows what becomes of its answers."""

import importlib.util
import json
import logging
import types

import pytest

from planner.documents.errors import DocumentError
from planner.entries import check
from planner.importers.profiles import aiconfigurator, inspect, read
from tests.importers.bench import write

ASKED = {"model": "XiaomiMiMo/MiMo-V2-Flash", "system": "h200_sxm", "backend": "sglang", "tp": 8}


def request(tmp_path, **changed):
    asked = {key: value for key, value in (ASKED | changed).items() if value is not None}
    return write(tmp_path, json.dumps({"aiconfigurator": asked}))


class Handle:
    """Answers in milliseconds: 10 a thousand new tokens, 2 a step and request; lengths count cached tokens."""

    @staticmethod
    def compile(model, system, backend, **options):
        if options["kvcache_quant_mode"] == "int8":
            raise RuntimeError("data missing at /a/b/aiconfigurator_core/systems/x")
        logging.getLogger("aiconfigurator_core.sdk").warning("Loading low-fidelity fallback rows for mla_perf.parquet")
        return Handle()

    def predict_prefill_latency(self, batch, tokens, prefix=0):
        return batch * (tokens - prefix) / 100

    def predict_decode_latency(self, batch, context, tokens):
        return 2.0 * batch * (tokens - 1)


@pytest.fixture
def stand_in(monkeypatch):
    def get_model(name, config, backend):
        return types.SimpleNamespace(get_kvcache_bytes_per_sequence=lambda length: 1000 * length // config.tp)

    def build(**options):
        dtype = types.SimpleNamespace(name=options["kvcache_quant_mode"] or "fp8")
        return types.SimpleNamespace(kvcache_quant_mode=dtype, tp=options["tp_size"])

    modules = {
        "engine": types.SimpleNamespace(EngineHandle=Handle),
        "models": types.SimpleNamespace(get_model=get_model),
        "config_builders": types.SimpleNamespace(build_model_config=build),
    }
    monkeypatch.setattr(aiconfigurator, "_module", lambda name: modules[name.rpartition(".")[2]])
    monkeypatch.setattr(aiconfigurator, "_models", lambda: [ASKED["model"]])
    monkeypatch.setattr(aiconfigurator, "_systems", lambda: ["h200_sxm"])
    monkeypatch.setattr(aiconfigurator.metadata, "version", lambda name: "0.12.0")


@pytest.mark.skipif(importlib.util.find_spec("aiconfigurator_core") is not None, reason="the package is installed here")
def test_without_the_package_it_is_said_what_to_install(tmp_path):
    with pytest.raises(DocumentError, match=r"pip install aiconfigurator-core==0\.12\.0"):
        inspect(request(tmp_path), {})


@pytest.mark.usefixtures("stand_in")
def test_estimates_become_a_profile_of_kind_estimated(tmp_path):
    document = read(request(tmp_path), {}).document
    check("profiles", document)
    assert (document["name"], document["hardware"]) == ("mimo-v2-flash-h200x8", "h200")
    assert document["prefill"]["tokens"] == [1024, 8192, 32768, 131072]
    assert document["prefill"]["seconds"] == pytest.approx([0.01024, 0.08192, 0.32768, 1.31072])
    assert document["prefill_cached"][0] == {
        "new_tokens": 1024,
        "cached_tokens": 8192,
        "seconds": pytest.approx(0.01024),
    }
    assert document["decode"][0] == {"batch": 1, "context_tokens": 1024, "seconds": pytest.approx(0.002)}
    assert {one["kind"] for one in document["provenance"].values()} == {"estimated"}


@pytest.mark.usefixtures("stand_in")
def test_what_is_known_to_be_wrong_with_them_is_said(tmp_path):
    found = inspect(request(tmp_path), {})
    told = " ".join(found["notes"])
    assert "cross-check" in told
    assert "its windowed layers are counted as full ones there" in told
    assert "another engine's measurements may stand in where this one has none: 'mla_perf'" in told
    assert found["aggregates"]["their_s_kv_bytes"]["1024"] == 1024000  # of one GPU that holds everything
    assert [(one["field"], one["value"]) for one in found["assumptions"]] == [("kv_dtype", "fp8")]


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"model": "nobody/nothing"}, "aiconfigurator.model: 'nobody/nothing' must be one of"),
        ({"system": None}, "aiconfigurator.system: must be one of 'h200_sxm'"),
        ({"tp": 1.5}, "aiconfigurator.tp: 1.5 must be a whole number"),
        ({"tp": None}, "aiconfigurator.tp: is missing"),
        ({"colour": 1}, "aiconfigurator.colour: is not asked for here; allowed: model"),
        ({"kv_dtype": "int8"}, "aiconfigurator: is not estimated: data missing at systems/x"),
        ({"lengths": [0]}, "aiconfigurator.lengths.0: 0 must be a number of at least 1"),
    ],
)
def test_what_cannot_be_estimated_is_refused_by_its_field(tmp_path, changed, told):
    with pytest.raises(DocumentError) as caught:
        inspect(request(tmp_path, **changed), {})
    assert told in str(caught.value)
