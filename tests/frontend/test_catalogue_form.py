"""Forms made from the schemas: nothing untouched changes, mistakes stand beside their input, sources stay."""

import pytest

from frontend.catalogue.form import EntryForm, texts_of
from frontend.catalogue.origins import Origin, assigned, changed, every, figures, origin_of
from frontend.catalogue.schema import Leaf, leaves, nodes
from planner import catalog
from planner.documents.errors import DocumentError
from planner.entries import KINDS, check

SHIPPED = [(kind, entry) for kind in KINDS for entry in catalog.documents(kind)]
CHIP = {
    "name": "x1", "title": "X1", "dense_flops": {"bf16": 989e12, "fp8": 1979e12}, "memory_bytes": 80e9, "tdp_w": 700.0,
    "provenance": {
        "dense_flops": {"kind": "published", "source": "data sheet"},
        "memory_bytes": {"kind": "published", "source": "data sheet"},
        "tdp_w": {"kind": "measured", "source": "our lab"},
    },
}  # fmt: skip
PROFILE = {
    "name": "p", "model": "m", "hardware": "h", "gpus_per_instance": 8,
    "prefill": {"tokens": [1024, 8192], "seconds": [0.5, 1.5]},
    "decode": [{"batch": 20, "seconds": 0.025}, {"batch": 40, "context_tokens": 1024, "seconds": 0.03}],
    "provenance": {"prefill": {"kind": "measured", "source": "our lab"}},
}  # fmt: skip
BY_LENGTH = {"reuse": "by_length", "tokens": [1000, 10000], "hit_ratio": [0.1, 0.375]}
TRAFFIC = {
    "name": "t", "output_tokens": 1024, "prefix": BY_LENGTH, "rate_rps": None,
    "input_tokens": {"distribution": "empirical", "samples": [10, 20, 30.5], "counts": [3, 2, 1]},
    "arrivals": {"process": "mmpp", "multipliers": [0.5, 2], "sojourn_s": [60, 30]},
}  # fmt: skip
LINK = {
    "name": "l", "bandwidth_bps": "unlimited", "rtt_s": 0.0725, "loss": 1e-5, "connections": 8,
    "background": {"kind": "recorded", "interval_s": 60, "share": [0.1, 0.25, 0.07]}, "price": {"usd_per_gb": 0.02},
}  # fmt: skip
BOUGHT = {
    "name": "b", "hardware": "h", "kind": "purchase", "usd_per_gpu_hour": None,
    "purchase": {"usd_per_gpu": 30000, "amortisation_years": 4, "usd_per_kwh": 0.08, "pue": 1.25},
}  # fmt: skip
OWN = [("hardware", CHIP), ("profiles", PROFILE), ("traffic", TRAFFIC), ("links", LINK), ("prices", BOUGHT)]


def typed(kind, base, **posted):
    return EntryForm.typed(kind, base, {key.replace("__", "."): text for key, text in posted.items()})


def refused(kind, base, posted):
    """The form with what the check says of it."""
    form = EntryForm.typed(kind, base, posted)
    document = form.document()
    try:
        check(kind, document)
    except DocumentError as problem:
        form.refuse(problem.errors)
    return form


@pytest.mark.parametrize(
    ("kind", "document"), [*SHIPPED, *OWN], ids=[f"{kind}-{document['name']}" for kind, document in [*SHIPPED, *OWN]]
)
def test_a_form_that_nobody_touched_is_the_document_to_the_last_bit(kind, document):
    # A browser sends every input, and line breaks as CR LF.
    sent = {key: text.replace("\n", "\r\n") for key, text in texts_of(kind, document).items()}
    form = EntryForm.typed(kind, document, sent)
    assert form.touched() == {}
    found = form.document()
    assert found == document
    assert repr(sorted(found.items())) == repr(sorted(document.items()))


@pytest.mark.parametrize(("kind", "document"), OWN, ids=[kind for kind, _ in OWN])
def test_an_entry_can_be_typed_whole_into_an_empty_form(kind, document):
    typed_whole = EntryForm.typed(kind, {}, texts_of(kind, document)).document()
    expected = {key: value for key, value in document.items() if key != "provenance" and value is not None}
    assert typed_whole == expected
    assert check(kind, typed_whole)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_kind_can_be_reached_by_an_input(kind):
    reached = {leaf.path.split(".")[0] for leaf in leaves(nodes(kind))}
    assert reached == set(KINDS[kind].schema.model_fields) - {"provenance"}


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_inputs_of_a_form_have_one_name(kind):
    keys = [leaf.key for leaf in leaves(nodes(kind))]
    assert len(keys) == len(set(keys))


def test_a_typed_figure_is_stored_in_si_units_and_the_others_are_not_touched():
    document = typed("hardware", CHIP, memory_bytes="141", dense_flops__fp8="1,978").document()
    assert document["memory_bytes"] == 141e9
    assert document["dense_flops"] == {"bf16": 989e12, "fp8": 1978e12}
    assert document["tdp_w"] == 700.0


def test_a_cleared_field_is_left_out_and_a_part_without_fields_too():
    document = EntryForm.typed(
        "hardware", CHIP, {"dense_flops.bf16": "", "dense_flops.fp8": " ", "tdp_w": ""}
    ).document()
    assert "dense_flops" not in document
    assert "tdp_w" not in document


def test_a_mistake_stands_beside_its_input_in_the_unit_of_the_input():
    form = refused("hardware", CHIP, {"memory_bytes": "lots", "tdp_w": "-5", "gpus_per_node": "2.5"})
    assert form.errors["memory_bytes"] == ["must be a number"]
    assert form.errors["tdp_w"] == ["must be greater than 0"]
    assert form.errors["gpus_per_node"] == ["must be a whole number"]
    assert form.texts["memory_bytes"] == "lots"


def test_a_name_that_is_no_address_is_told_what_it_may_be():
    told = refused("hardware", {}, {"name": "two words"}).errors["name"]
    assert told == ["must be letters, digits, - and _, the first a letter or digit"]


def test_a_limit_is_told_in_the_unit_that_was_typed():
    assert refused("links", LINK, {"loss": "150"}).errors["loss"] == ["must be at most 100 %"]


def test_points_are_lines_and_a_mistake_names_its_line():
    sent = {"prefill.points": "1024 0.44\r\n8192\t0.72\r\n32768; 1.84"}
    form = EntryForm.typed("profiles", PROFILE, sent)
    assert form.document()["prefill"] == {"tokens": [1024, 8192, 32768], "seconds": [0.44, 0.72, 1.84]}
    wrong = refused("profiles", PROFILE, {"prefill.points": "1024, 0.44\n8192, soon"})
    assert wrong.errors["prefill.points"] == ["line 2, seconds: must be a number"]
    short = refused("profiles", PROFILE, {"prefill.points": "1024, 0.44\n8192"})
    assert short.errors["prefill.points"] == ["line 2 has 1 values; needs 2: tokens, seconds"]
    falling = refused("profiles", PROFILE, {"prefill.points": "8192, 0.44\n1024, 0.72"})
    assert "lengths must rise" in falling.errors["prefill.points"][0]


def test_rows_may_leave_out_what_nobody_says():
    form = EntryForm.typed("profiles", PROFILE, {"decode": "20, -, 0.025\n30, 2048, 0.028"})
    assert form.document()["decode"] == [
        {"batch": 20, "seconds": 0.025},
        {"batch": 30, "context_tokens": 2048, "seconds": 0.028},
    ]


def test_only_what_is_chosen_is_read():
    sent = {"input_tokens": "gamma", "input_tokens:gamma.shape": "2", "input_tokens:gamma.mean": "4000",
            "input_tokens:gamma.min": "1", "input_tokens:gamma.max": "100000",
            "input_tokens:pareto.alpha": "9"}  # fmt: skip
    document = EntryForm.typed("traffic", TRAFFIC, sent).document()
    assert document["input_tokens"] == {"distribution": "gamma", "shape": 2, "mean": 4000, "min": 1, "max": 100000}
    assert check("traffic", document)


def test_a_mistake_in_a_choice_stands_beside_the_input_of_what_is_chosen():
    form = refused("traffic", TRAFFIC, {"output_tokens": "pareto", "output_tokens:pareto.alpha": "steep"})
    assert form.errors["output_tokens:pareto.alpha"] == ["must be a number"]
    assert form.errors["output_tokens:pareto.min"] == ["is missing"]


def test_layers_are_typed_as_yaml_and_told_apart_by_line():
    layers = "- kind: attention\n  layers: 12\n  kv_heads: 8\n  key_dim: 128\n  value_dim: 128"
    form = EntryForm.typed("models", {}, {"name": "m", "layers": layers})
    assert check("models", form.document()).cache().bytes_per_token("bf16") == 12 * 8 * 256 * 2
    broken = refused("models", {}, {"name": "m", "layers": "- kind: [attention"})
    assert "line 1" in broken.errors["layers"][0]
    assert list(broken.errors) == ["layers"]
    wrong = refused("models", {}, {"name": "m", "layers": layers.replace("layers: 12", "layers: none")})
    assert wrong.errors["layers"] == ["item 1, layers: must be a whole number"]


def test_a_mistake_of_the_whole_entry_is_kept_in_the_summary():
    form = refused("prices", {}, {"name": "p", "hardware": "h", "kind": "spot"})
    assert "needs usd_per_gpu_hour" in form.errors[""][0]


# --- where figures come from ---

USER = Origin("user", "my quote")


def edited(base, **posted):
    document = typed("hardware", base, **posted).document()
    return assigned(document, changed(base, document), USER)


def test_editing_one_figure_leaves_the_sources_of_the_others_alone():
    document = edited(CHIP, dense_flops__fp8="2000")
    assert origin_of(document, "dense_flops.fp8") == USER
    assert origin_of(document, "dense_flops.bf16") == Origin("published", "data sheet")
    assert origin_of(document, "memory_bytes") == Origin("published", "data sheet")
    assert origin_of(document, "tdp_w") == Origin("measured", "our lab")
    assert check("hardware", document)


def test_a_part_of_which_every_figure_changes_is_one_entry():
    document = edited(CHIP, dense_flops__fp8="2000", dense_flops__bf16="1000")
    assert document["provenance"]["dense_flops"] == {"kind": "user", "source": "my quote"}
    assert "dense_flops.fp8" not in document["provenance"]


def test_words_are_no_figures():
    assert changed(CHIP, {**CHIP, "title": "Another", "notes": "n"}) == []


def test_a_curve_is_one_figure():
    document = EntryForm.typed("profiles", PROFILE, {"prefill.points": "1024, 0.5\n8192, 1.6"}).document()
    assert changed(PROFILE, document) == ["prefill"]


def test_what_is_gone_has_no_source_any_more():
    document = edited(CHIP, tdp_w="")
    assert "tdp_w" not in document["provenance"]
    assert check("hardware", document)


@pytest.mark.parametrize(("kind", "document"), OWN, ids=[kind for kind, _ in OWN])
def test_a_new_entry_can_say_the_source_of_every_figure(kind, document):
    bare = {key: value for key, value in document.items() if key != "provenance"}
    sourced = assigned(bare, every(bare), USER)
    assert {origin_of(sourced, path) for path, _ in figures(bare)} == {USER}
    assert check(kind, sourced)


def test_every_kind_has_an_input_for_each_reference():
    found = {(kind, leaf.path): leaf.options for kind in KINDS for leaf in leaves(nodes(kind))
             if isinstance(leaf, Leaf) and leaf.widget == "reference"}  # fmt: skip
    assert found == {
        ("profiles", "model"): ("models",),
        ("profiles", "hardware"): ("hardware",),
        ("prices", "hardware"): ("hardware",),
        ("measurements", "hardware"): ("hardware",),
    }
