"""What the product ships with: enough of each kind, every figure with its source, and equal to what is known."""

import json

import pytest

from planner import catalog
from planner.catalog.traces import HERE
from planner.catalog.traces.generate import TRACES
from planner.documents import paths
from planner.entries import KINDS, check
from planner.entries.model import Model
from planner.entries.profile import Profile
from tests.shared_data import SHARED, needs_shared_data

TEXTS = ("name", "title", "notes", "vendor", "provider", "region", "kind", "engine", "precision", "date")
NAMES = {1024: "1K", 8192: "8K", 32768: "32K", 131072: "128K"}


def test_there_is_enough_to_begin_with():
    least = {"hardware": 12, "models": 20, "profiles": 8, "traffic": 3, "links": 10, "prices": 40}
    assert {kind: len(catalog.names(kind)) >= number for kind, number in least.items()} == dict.fromkeys(least, True)


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_is_valid_and_names_only_what_is_there(kind):
    for document in catalog.documents(kind):
        check(kind, document)
        for field, target in KINDS[kind].references.items():
            assert document[field] in catalog.names(target)


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_has_a_kind_and_a_source(kind):
    for document in catalog.documents(kind):
        figures = {key: value for key, value in document.items() if key not in (*TEXTS, "provenance")}
        for path in paths.figures(figures):
            parts = path.split(".")
            known = [".".join(parts[:size]) for size in range(1, len(parts) + 1)]
            origin = next((document["provenance"][each] for each in known if each in document["provenance"]), None)
            assert origin is not None, f"{kind}/{document['name']}: {path}"
            assert origin["source"]


@needs_shared_data
def test_every_model_keeps_the_bytes_that_are_known_of_it():
    models = json.loads((SHARED / "models.json").read_text())["models"]
    names = {"paper-internal-1t": "internal-1t-hybrid"}
    for known in models:
        name = names.get(known["id"], known["id"].replace(".", "-"))
        cache = Model.model_validate(catalog.entry("models", name)).cache()
        for dtype, sizes in known["S_kv_bytes"].items():
            ours = {NAMES[tokens]: float(cache.s_kv(tokens, dtype)) for tokens in NAMES}
            assert ours == {length: pytest.approx(size, abs=0.5) for length, size in sizes.items()}, (name, dtype)


PUBLISHED = {
    "kimi-linear-48b-a3b": 3.87,
    "mimo-v2-flash": 4.66,
    "qwen3-5-397b-a17b": 8.25,
    "ring-2-5-1t": 2.59,
    "minimax-m2-5": 59.93,
    "qwen3-235b-a22b": 33.35,
}


@pytest.mark.parametrize(("name", "gbps"), PUBLISHED.items())
def test_kv_throughput_at_32k_is_the_published_one(name, gbps):
    model = Model.model_validate(catalog.entry("models", name))
    [profile] = [Profile.model_validate(each) for each in catalog.SHIPPED.profiles(name)]
    rate = 8 * float(model.s_kv()(32768)) / float(profile.prefill.curve()(32768))
    assert rate / 1e9 == pytest.approx(gbps, rel=0.005)
    assert profile.provenance["prefill"].kind == "inferred"


def test_the_layers_of_the_internal_model_give_its_published_sizes_at_round_decimal_lengths():
    cache = Model.model_validate(catalog.entry("models", "internal-1t-hybrid")).cache()
    sizes = {1024: 190.8, 8192: 308.9, 32000: 701.3, 130000: 2316.3}
    ours = {tokens: float(cache.s_kv(tokens, "bf16")) / 2**20 for tokens in sizes}
    assert ours == pytest.approx(sizes, abs=0.065)


@pytest.mark.parametrize("name", TRACES)
def test_the_shipped_traces_are_what_their_generator_writes(name):
    assert (HERE / name).read_text(encoding="utf-8") == TRACES[name]()
