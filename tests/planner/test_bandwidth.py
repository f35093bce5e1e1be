"""What clusters push onto a link: the paper's claims, and the same from the stored catalogue."""

import pytest

from planner import bandwidth, catalog, seeding, store
from planner.bandwidth import Asked
from planner.bandwidth.wall import smallest
from planner.documents.errors import DocumentError

CLAIMS = [
    ("MiniMax-M2.5 229B", "minimax-m2-5", 512, 32768, 3840),
    ("Qwen3-235B", "qwen3-235b-a22b", 512, 32768, 2130),
    ("Ring-2.5-1T", "ring-2-5-1t", 512, 32768, 166),
    ("Ring-2.5-1T", "ring-2-5-1t", 512, 131072, 93.4),
    ("Ring-2.5-1T", "ring-2-5-1t", 10_000, 131072, 1820),
]


@pytest.mark.parametrize(("title", "_entry", "gpus", "tokens", "gbps"), CLAIMS)
def test_large_clusters_push_out_what_the_paper_says(title, _entry, gpus, tokens, gbps):
    demand = next(each for each in bandwidth.demands() if each.title == title)
    column = bandwidth.FLEETS.index((gpus, tokens))
    assert demand.egress_bps[column] == pytest.approx(gbps * 1e9, rel=5e-3)


def test_dense_attention_comes_first():
    assert [demand.attention for demand in bandwidth.demands()][:2] == ["GQA", "GQA"]


@pytest.fixture
def _seeded(db):
    seeding.seed()


seeded = pytest.mark.usefixtures("_seeded")


def cell(wall, model, tokens):
    row = next(row for row in wall["rows"] if row["model"] == model)
    return next(cell for cell in row["cells"] if cell["length_tokens"] == tokens)


@seeded
def test_the_stored_catalogue_says_what_the_paper_prints():
    wall = bandwidth.wall(Asked())
    assert [row["model"] for row in wall["rows"]] == [
        model["entry"] for model in catalog.published()["kv_throughput"]["models"]
    ]
    for row in wall["rows"]:
        for each in row["cells"]:
            assert each["instance"]["egress_bps"] == pytest.approx(each["published_bps"], rel=5e-3)
            assert each["difference"] is None  # the profiles were derived from the table
    for _, entry, gpus, tokens, gbps in CLAIMS:
        fleet = next(each for each in cell(wall, entry, tokens)["fleets"] if each["gpus"] == gpus)
        assert fleet["egress_bps"] == pytest.approx(gbps * 1e9, rel=5e-3)
        assert fleet["instances"] == gpus / 8


@seeded
def test_a_profile_from_elsewhere_is_checked_against_the_published_figure():
    profile = store.named("profiles", "ring-2-5-1t-h200x8")
    measured = {"prefill": {"kind": "measured", "source": "a run of 2026-05-04"}}
    store.update(profile, {**profile.document, "provenance": measured}, revision=profile.revision)
    found = cell(bandwidth.wall(Asked(profiles=("ring-2-5-1t-h200x8",))), "ring-2-5-1t", 32768)
    assert found["published_bps"] == 2.59e9
    assert found["difference"] == pytest.approx(0, abs=5e-3)


@pytest.mark.parametrize(
    ("bps", "headroom", "name", "count"),
    [
        (0.9e9, 0.1, "1 Gbps", 1),
        (0.91e9, 0.1, "10 Gbps", 1),
        (1e9, 0.0, "1 Gbps", 1),
        (9.1e10, 0.1, "400 Gbps", 1),
        (1.44e12, 0.1, "1.6 Tbps", 1),
        (1.45e12, 0.1, "1.6 Tbps", 2),
        (3.84e12, 0.1, "1.6 Tbps", 3),
    ],
)
def test_the_smallest_class_leaves_its_headroom(bps, headroom, name, count):
    assert smallest(bps, headroom) == {"link_class": name, "link_count": count}


@seeded
def test_stored_links_are_as_full_as_what_is_left_of_them_makes_them():
    store.create("links", {"name": "busy", "bandwidth_bps": 1e10, "background": {"kind": "constant", "share": 0.6}})
    store.create("links", {"name": "slow", "bandwidth_bps": 1e11, "achieved_bps": 5e9})
    store.create("links", {"name": "full", "bandwidth_bps": 1e9, "background": {"kind": "constant", "share": 1.0}})
    store.create("links", {"name": "free", "bandwidth_bps": "unlimited"})
    names = ("busy", "slow", "full", "free")
    wall = bandwidth.wall(Asked(profiles=("ring-2-5-1t-h200x8",), lengths=(32768.0,), headroom=0.0, links=names))
    used = {each["name"]: each["used"] for each in cell(wall, "ring-2-5-1t", 32768)["instance"]["links"]}
    assert used["busy"] == pytest.approx(2.59 / 4, rel=5e-3)
    assert used["slow"] == pytest.approx(2.59 / 5, rel=5e-3)
    assert (used["full"], used["free"]) == (None, 0.0)


@seeded
def test_a_model_has_the_profile_that_is_named_or_else_its_first():
    wall = bandwidth.wall(Asked(models=("internal-1t-hybrid",)))
    assert [row["profile"] for row in wall["rows"]] == ["internal-1t-hybrid-h200x8"]
    both = ("internal-1t-hybrid-h20x8", "internal-1t-hybrid-h200x8")
    wall = bandwidth.wall(Asked(models=("internal-1t-hybrid",), profiles=both))
    assert [row["profile"] for row in wall["rows"]] == list(both)
    assert wall["rows"][0]["provenance"]["kind"] == "inferred"
    assert all(each["published_bps"] is None for each in wall["rows"][0]["cells"])


@seeded
def test_lengths_that_nobody_measured_are_extrapolated():
    wall = bandwidth.wall(Asked(models=("ring-2-5-1t",), lengths=(512.0, 1024.0, 131072.0, 200_000.0)))
    assert [each["is_extrapolated"] for each in wall["rows"][0]["cells"]] == [True, False, False, True]


@seeded
def test_the_published_reduction_is_explained_by_two_factors_of_stored_models():
    found = bandwidth.wall(Asked())["reduction"]
    # MLA keeps 512 + 64 numbers of 2 bytes; 8 KV heads of keys of 128 + 64 and values of 128 keep 2,560
    assert (found["latent_layer_bytes"], found["own_layer_bytes"]) == (1152, 5120)
    assert found["attention"] == pytest.approx(40 / 9)
    assert found["ratio"] == 8
    assert found["total"] == pytest.approx(found["published"]["total"], rel=0.02)
    assert found["attention"] == pytest.approx(found["published"]["attention"], rel=0.02)
    assert found["reference_total"] == pytest.approx(8 * 4096 / 1152)


@seeded
def test_the_explanation_follows_the_stored_layers():
    entry = store.named("models", "ring-2-5-1t")
    document = dict(entry.document)
    document["layers"] = [{**document["layers"][0], "layers": 20}, document["layers"][1]]
    store.update(entry, document, revision=entry.revision)
    assert bandwidth.wall(Asked())["reduction"]["ratio"] == 4.5


def test_models_of_another_kind_have_no_such_factors():
    ring, dense = catalog.entry("models", "ring-2-5-1t"), catalog.entry("models", "minimax-m2-5")
    assert bandwidth.reduction(ring, dense) is not None
    assert bandwidth.reduction(dense, dense) is None
    assert bandwidth.reduction(ring, ring) is None
    assert bandwidth.reduction(catalog.entry("models", "mimo-v2-flash"), dense) is None


@seeded
def test_curves_prolonged_beyond_all_numbers_are_refused():
    steep = {"tokens": [1, 2], "bytes": [1e12, 1e18], "interpolation": "log_log"}
    store.create("models", {"name": "steep", "measured": steep})
    times = {"tokens": [1, 2], "seconds": [1e-10, 1e-16], "interpolation": "log_log"}
    store.create(
        "profiles", {"name": "fast", "model": "steep", "hardware": "h200", "gpus_per_instance": 8, "prefill": times}
    )
    with pytest.raises(DocumentError) as refused:
        bandwidth.wall(Asked(profiles=("fast",), lengths=(1e9,)))
    assert refused.value.errors[0].field == "length"


@pytest.mark.django_db
def test_an_empty_catalogue_has_an_empty_wall():
    wall = bandwidth.wall(Asked())
    assert (wall["rows"], wall["reduction"]) == ([], None)


def test_a_query_is_read_with_k_commas_and_repeats():
    found = bandwidth.asked(
        {"length": ["32K, 1024", "32768"], "gpus": ["512;8"], "headroom": [""], "model": ["a", "a"]}
    )
    assert found == Asked(models=("a",), lengths=(1024.0, 32768.0), gpus=(8, 512))


def test_every_mistake_of_a_query_has_its_field():
    with pytest.raises(DocumentError) as refused:
        bandwidth.asked({"length": ["32M"], "gpus": ["0"], "headroom": ["1"], "colour": ["red"]})
    assert {error.field for error in refused.value.errors} == {"length", "gpus", "headroom", "colour"}
