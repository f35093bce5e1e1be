"""The command line: three commands on a name or a file, and one clear line with exit status 2 on bad input."""

import json
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from planner import seeding, store
from planner.catalog import files
from planner.evaluation import evaluate, optimize
from planner.scenario import SHIPPED, load, parse
from tests.planner.documents import BASE, shipped

REPOSITORY = Path(__file__).parents[2]


def said(command, *arguments):
    out = StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue()


def refusal(command, *arguments):
    """The one line that a refused command ends with."""
    with pytest.raises(CommandError) as refused:
        said(command, *arguments)
    assert refused.value.returncode == 2
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("form", ["exact", "paper"])
def test_evaluate_and_optimize_print_the_result_document_as_json(name, form):
    assert json.loads(said("evaluate", name, "--form", form, "--json")) == evaluate(load(name), form)
    assert json.loads(said("optimize", name, "--form", form, "--json")) == optimize(load(name), form)


def test_evaluate_prints_the_published_figures_for_people():
    text = said("evaluate", BASE, "--form", "paper")
    for figure in (
        "3.186 req/s",
        "19,400 tokens",
        "49.57%",
        "45,046",
        "10,224",
        "12.2",
        "2.22 s",
        "3.51 s",
        "4 / 3 / 5",
    ):
        assert figure in text
    assert "PrfaaS compute" in text
    assert "inferred" in text


def test_optimize_says_what_was_found_and_what_it_gains():
    text = said("optimize", BASE)
    assert "3.139 req/s, bound by PrfaaS compute and PD-P" in text
    assert "routing.threshold_tokens" in text
    assert "Λ_max 3.122 req/s, +0.5" in text


def test_optimize_of_a_scenario_that_frees_nothing_says_so():
    assert "`free` is empty" in said("optimize", "case-study-naive")


@pytest.mark.parametrize("name", SHIPPED)
def test_stages_that_are_not_used_are_dashes_for_people(name):
    lines = {line.split("  ")[1].strip(): line for line in said("evaluate", name).splitlines()[1:]}
    dashes = {title for title in ("PrfaaS compute", "link", "PD-P", "PD-D") if lines[title].endswith("–")}
    assert (
        dashes
        == {BASE: set(), "case-study-homogeneous": {"PrfaaS compute", "link"}, "case-study-naive": {"PD-P"}}[name]
    )


@pytest.mark.parametrize("path", ["links.wan.bandwidth_bps", "clusters.prfaas.instances"])
def test_a_deployment_that_carries_nothing_is_printed_all_the_same(path):
    assert "0.000 req/s" in said("evaluate", BASE, "--set", f"{path}=0")


def test_the_command_of_the_binding_link_gives_the_published_optimum():
    text = said(
        "optimize", BASE, "--json", "--set", "links.wan.bandwidth_bps=6e9", "--set", "free=[routing.threshold_tokens]"
    )
    best = json.loads(text)
    assert best["lambda_max_rps"] == pytest.approx(1.952, abs=5e-4)
    assert best["threshold_tokens"] == pytest.approx(28_800, abs=50)
    assert best["binding"] == ["link", "pd_p"]


def test_a_value_may_hold_equals_signs_and_the_last_of_two_counts():
    text = said("export", BASE, "--set", "title=a=b", "--set", "decode.step_s=1", "--set", "decode.step_s=2", "--json")
    assert json.loads(text)["title"] == "a=b"
    assert json.loads(text)["decode"]["step_s"] == 2


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_what_export_writes_evaluates_to_the_same_result(tmp_path, name, options):
    path = tmp_path / "scenario"
    path.write_text(said("export", name, *options), encoding="utf-8")
    assert said("evaluate", str(path), "--json") == said("evaluate", name, "--json")
    assert said("export", str(path), *options) == said("export", name, *options)


def test_export_applies_overrides_and_marks_them():
    document = files.parse(said("export", BASE, "--set", "links.wan.bandwidth_bps=6e9"))
    assert document["links"][0]["bandwidth_bps"] == 6e9
    assert parse(document).provenance("links.wan.bandwidth_bps")["kind"] == "user"


@pytest.mark.django_db
def test_a_name_that_is_set_in_a_shipped_scenario_is_a_stored_one():
    seeding.seed()
    store.clone(store.named("models", "internal-1t-hybrid"), "mine")
    for hardware in ("h200", "h20"):
        shipped_profile = store.named("profiles", f"internal-1t-hybrid-{hardware}x8").document
        store.create("profiles", {**shipped_profile, "name": f"mine-{hardware}x8", "model": "mine"})
    document = files.parse(said("export", BASE, "--set", "model=mine"))
    assert document["model"]["name"] == "mine"
    assert said("evaluate", BASE, "--set", "model=mine").splitlines()[1:] == said("evaluate", BASE).splitlines()[1:]
    assert "known: " in refusal("evaluate", BASE, "--set", "model=nowhere")


@pytest.mark.django_db
def test_what_is_stored_does_not_change_a_shipped_scenario():
    seeding.seed()
    before = said("evaluate", BASE, "--json")
    traffic = store.named("traffic", "case-study")
    store.update(traffic, {**traffic.document, "output_tokens": 1.0}, revision=1)
    assert said("evaluate", BASE, "--json") == before


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("decode.step_s", "--set decode.step_s: must be PATH=VALUE"),
        ("=1", "--set =1: must be PATH=VALUE"),
        ("decode.step_s=", "decode.step_s: must be a number"),
        ("decode.step_s=fast", "decode.step_s: 'fast' must be a number"),
        ("decode.step_s=[1", "--set decode.step_s=[1: line 1"),
        ("decode.steps=1", "decode.steps: 1 is not a field here; allowed: max_batch, step_s"),
        ("links.lan.rtt_s=1", "links.lan.rtt_s: leads nowhere; from there: wan"),
        ("clusters.pd.instances=010", "clusters.pd.instances: '010' must be a whole number"),
        ("decode.step_s=" + "9" * 5000, "--set decode.step_s=999"),
        ("decode.step_s=*a", "aliases are not taken"),
        ("a\nb=1", r"a\nb"),
    ],
)
def test_an_override_that_cannot_be_is_refused_in_one_line(pair, expected):
    for command in ("evaluate", "optimize", "export"):
        assert expected in refusal(command, BASE, "--set", pair)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "must be a table of fields"),
        ("a: 1\na: 2", "line 2, column 1: 'a' stands twice"),
        ("a: \x00", "control characters"),
        ("{}", "name: is missing"),
        ("1: 2", "1: is not text"),
        ('{"a\\nb": 1}', r"a\nb"),
        ('{"name": "\\ud800"}', "broken Unicode"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused_in_one_line(tmp_path, content, expected):
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    assert expected in refusal("evaluate", str(path))


@pytest.mark.django_db
def test_a_stored_scenario_is_found_by_its_name_and_a_shipped_one_is_the_shipped_one():
    seeding.seed()
    store.create("scenarios", load(BASE, {"routing.threshold_tokens": 25_000}).document() | {"name": "mine"})
    found = json.loads(said("evaluate", "mine", "--json"))
    assert (found["scenario"], found["threshold_tokens"]) == ("mine", 25_000)
    edited = store.named("scenarios", BASE)
    store.update(edited, edited.document | {"title": "Edited"}, revision=edited.revision)
    assert json.loads(said("evaluate", BASE, "--json")) == evaluate(load(BASE), "exact")


def manage(*arguments):
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["evaluate", "no-such-scenario"], "case-study-homogeneous"),
        (["optimize", BASE, "--set", "decode.step_s=-1"], "decode.step_s: -1 must be at least"),
        (["export", "/"], "neither a shipped or stored scenario nor a file"),
    ],
)
def test_bad_input_ends_the_process_with_status_2_and_one_line(arguments, expected):
    ended = manage(*arguments)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert expected in ended.stderr


def test_an_unknown_form_ends_the_process_with_status_2_and_says_which_there_are():
    ended = manage("evaluate", BASE, "--form", "rough")
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert "exact" in ended.stderr.splitlines()[-1]
    assert "paper" in ended.stderr.splitlines()[-1]


def test_good_input_ends_the_process_with_status_0_and_nothing_on_stderr(tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_text(files.as_yaml(shipped()), encoding="utf-8")
    ended = manage("evaluate", str(path), "--form", "paper", "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout)["lambda_max_rps"] == pytest.approx(3.186, abs=5e-4)


# --- what to buy -------------------------------------------------------------------------------------------------

PRICED = ("--price", "h200=2", "--price", "h20=1")


@pytest.mark.django_db
def test_optimize_finds_the_deployment_of_equal_cost():
    text = said("optimize", BASE, "--problem", "equal_cost", *PRICED)
    for figure in (
        "budget             128.00 USD/h",
        "5 × 8 h200 over wan, 1 + 5 × 8 h20",
        "3.223 req/s",
        "2.710 req/s",
    ):
        assert figure in text
    assert "carries 1.189 times what the best without PrfaaS does" in text
    assert "Buy next: one PrfaaS instance (8 × h200)" in text


@pytest.mark.django_db
@pytest.mark.once
def test_optimize_finds_the_cheapest_for_a_rate_and_the_tie():
    cheapest = json.loads(said("optimize", BASE, "--problem", "least_cost", "--rate", "5", *PRICED, "--json"))
    assert cheapest["best"]["lambda_max_rps"] >= 5
    assert "ties at price_ratio 2.479" in said(
        "optimize", BASE, "--problem", "break_even", "--vary", "price_ratio:1:5", *PRICED
    )


@pytest.mark.django_db
@pytest.mark.once
def test_optimize_keeps_a_promise_and_prints_a_front():
    promised = said("optimize", BASE, "--problem", "least_cost", "--rate", "3", "--ttft", "P90=5", *PRICED)
    assert "6 × 8 h200 over wan, 1 + 5 × 8 h20" in promised
    assert "TTFT under load, by approximation: mean 2." in promised


@pytest.mark.django_db
def test_the_rest_of_a_question_comes_from_a_file(tmp_path):
    path = tmp_path / "question.yaml"
    path.write_text("reserve: {target_utilisation: 0.8}\nprices: [{name: h200, usd_per_gpu_hour: 2}]\n")
    question = ("optimize", BASE, "--problem", "equal_cost", "--question", str(path))
    assert "has no price for h20" in refusal(*question)
    assert json.loads(said(*question, *PRICED, "--json"))["best"]["lambda_max_rps"] < 2.7


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--price", "h200"], "must be HARDWARE=USD or HARDWARE=OFFER"),
        (["--price", "h200=none-such"], "prices.h200.offer: 'none-such' is no stored price"),
        (["--ttft", "soon"], "must be P50, P90 or P99=SECONDS"),
        (["--vary", "price_ratio"], "must be PARAMETER:LOWEST:HIGHEST"),
        (["--budget", "-1", *PRICED], "budget_usd_per_h: -1.0 must be at least"),
        (["--question", "/no/such/file"], "--question /no/such/file"),
    ],
)
def test_a_question_that_cannot_be_is_refused_in_one_line(arguments, expected):
    assert expected in refusal("optimize", BASE, "--problem", "equal_cost", *arguments)


@pytest.mark.django_db
def test_the_command_that_imports_a_catalogue_counts_and_tells_what_it_left_out(tmp_path):
    path = tmp_path / "one.yaml"
    path.write_text("schema_version: 1\nhardware: [{name: x1, tdp_w: 700.0}]\n")
    assert said("catalogue", "import", str(path)) == "1 entry stored or found equal\n"
    lengths = "{distribution: empirical, samples: [10]}"
    traffic = f"{{name: mine, input_tokens: {lengths}, output_tokens: 5, trace: {'ab' * 32}}}"
    path.write_text(f"schema_version: 1\ntraffic: [{traffic}]\n")
    assert "the recorded requests of 'mine' are not stored here" in said("catalogue", "import", str(path))


# --- simulation --------------------------------------------------------------------------------------------------


def test_simulate_prints_intervals_and_its_speed():
    text = said("simulate", BASE, "--requests", "5000", "--replications", "3", "--load", "0.6", "--within", "6")
    assert re.search(r"TTFT <= 6 s +\d\d\.\d\d% +\[.*\] of requests\n +goodput +1\.\d+ +\[.*\] req/s", text)
    assert "60.0% of Λ_max" in text
    assert re.search(r"TTFT P90 +\d\.\d\d  \[\d\.\d\d, \d\.\d\d\] s", text)
    assert "requests a second" in text
    found = json.loads(said("simulate", BASE, "--requests", "5000", "--rate", "1", "--seed", "7", "--json"))
    assert found["stable"]
    assert found["seed"] == 7
    assert {"mean", "low", "high"} == set(found["ttft_s"]["p90"])
    assert found["requests_per_wall_second"] > 0


def test_simulate_takes_a_brown_out_of_the_link_and_a_share_for_each_transfer():
    run = ("simulate", "case-study-prfaas-pd", "--requests", "4000", "--replications", "2", "--rate", "1.8", "--json")
    clear, brown, narrow = (
        json.loads(said(*run, *more)) for more in ((), ("--brown-out", "600", "700", "2e9"), ("--connection", "2e9"))
    )
    tails_s = [found["waits_s"]["link"]["mean"] for found in (brown, narrow)]
    assert min(tails_s) > 10 * clear["waits_s"]["link"]["mean"]
    assert max(brown["series"]["in_system"]) > 2 * max(narrow["series"]["in_system"])


def test_a_simulation_that_cannot_be_is_refused_in_one_line():
    assert "brown_out.end_s: 5.0 must be after 9 s" in refusal("simulate", BASE, "--brown-out", "9", "5", "1e9")
    assert "requests: 1 must be at least 100" in refusal("simulate", BASE, "--requests", "1")
    assert "policy: 'guess' must be one of" in refusal("simulate", BASE, "--policy", "guess")
