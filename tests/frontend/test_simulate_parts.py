"""What a simulation's form asks beside load and routing: folded up until it is used, and never lost."""

import re

import pytest

from planner.models import Job
from tests.frontend.test_optimiser import beside, drawn, page_of, summary, text
from tests.frontend.test_simulate import ALONE, CASE, TYPED, ask, asked, planner, simulation

__all__ = ["planner"]
pytestmark = pytest.mark.django_db
PARTS = (
    "Prefill instances", "Decode", "Link brown-out", "Weather of the link", "TCP", "Several paths", "Faults",
    "Roles that change", "Prompts", "Prefix caches",
)  # fmt: skip
EVERYTHING = {
    "choice": "shortest_queue", "chunk_tokens": "4096", "iterations": "iteration", "step_base": "20",
    "step_request": "100", "step_token": "2", "memory_bytes": "640", "connections": "16", "window": "8", "loss": "0.01",
    "paths_share_1": "60", "paths_rtt_s_1": "20", "paths_share_3": "40", "others_mean": "20", "others_swing": "10",
    "others_peak": "14", "wanders": "10", "memory": "60", "wanders_to": "150", "up": "3600", "down": "30",
    "windows_begin_s_2": "100", "windows_end_s_2": "200", "windows_bps_2": "5", "failover": "no",
    "faults_place_1": "pd_d", "faults_begin_s_1": "10", "faults_end_s_1": "20", "faults_instances_1": "2",
    "faults_place_3": "prfaas", "faults_begin_s_3": "300", "faults_end_s_3": "400", "fails_up_pd_p": "90000",
    "fails_down_pd_p": "600", "spares_pd_p": "1", "spares_ready_pd_p": "15", "spares_prfaas": "2", "roles": "yes",
    "role_delay": "30", "role_high": "90", "role_least_decode": "2", "role_retunes": "no", "prompts": "agents",
    "systems": "4", "system_tokens": "2048", "first": "500", "turns": "6", "think": "20", "most_tokens": "65536",
    "pd_bytes": "1000", "prfaas_bytes": "500.5", "cache_routing": "own", "copies": "no", "state_every": "8",
    "keeps_answers": "no",
}  # fmt: skip
DOCUMENT = {
    "prefill": {"choice": "shortest_queue", "chunk_tokens": 4096},
    "decode": {"iterations": True, "base_s": 0.02, "request_s": 0.0001, "token_s": 2e-9, "memory_bytes": 6.4e11},
    "tcp": {"connections": 16, "window_bytes": 8 * 2**20, "loss": 0.0001},
    "paths": [{"share": 0.6, "rtt_s": 0.02}, {"share": 0.4}],
    "weather": {
        "background": {"kind": "diurnal", "mean_share": 0.2, "amplitude": 0.1, "peak_hour": 14},
        "fluctuation": {"sd_share": 0.1, "relaxation_s": 60, "most_share": 1.5},
        "outages": {"mean_up_s": 3600, "mean_down_s": 30},
        "windows": [{"begin_s": 100, "end_s": 200, "bps": 5e9}],
    },
    "failover": False,
    "faults": [
        {"place": "pd_d", "begin_s": 10, "end_s": 20, "instances": 2},
        {"place": "prfaas", "begin_s": 300, "end_s": 400},
    ],
    "failures": [{"place": "pd_p", "mean_up_s": 90_000, "mean_down_s": 600}],
    "spares": [{"place": "prfaas", "instances": 2}, {"place": "pd_p", "instances": 1, "ready_s": 15}],
    "roles": {"delay_s": 30, "high": 0.9, "least_decode": 2, "retunes": False},
    "prompts": {
        "source": "sessions", "kind": "agents", "systems": 4, "system_tokens": 2048, "first": 500, "mean_turns": 6,
        "think_s": 20, "most_tokens": 65_536,
    },
    "caches": {
        "pd_bytes": 1e12, "prfaas_bytes": 5.005e11, "routing": "own", "copies": False, "state_every": 8,
        "keeps_answers": False,
    },
}  # fmt: skip


def folded(page):
    """The parts that are folded up, and those that are open."""
    found = {"open": [], "closed": []}
    for name, is_open in re.findall('data-part="(.*?)"( open)?>', page):
        found["open" if is_open else "closed"].append(name)
    return found


def again(client, job):
    link = re.search('href="([^"]*)">Ask again<', page_of(client, job))
    return None if link is None else client.get(link[1].replace("&amp;", "&")).content.decode()


def test_what_not_everybody_needs_is_folded_up_until_it_is_used(planner):
    assert folded(planner.get("/simulate/").content.decode()) == {"open": [], "closed": list(PARTS)}
    page = planner.get("/simulate/?faults_begin_s_2=5&role_high=90").content.decode()
    assert folded(page)["open"] == ["Faults", "Roles that change"]


def test_what_is_left_as_it_is_adds_nothing(planner):
    shown = planner.get("/simulate/").content.decode()
    inputs = re.findall('<input type="text" name="(.*?)" value="(.*?)"', shown)
    selects = re.findall('<select name="(.*?)".*?<option value="(.*?)" selected', shown, re.DOTALL)
    filled = {name: value for name, value in [*inputs, *selects] if name not in TYPED}
    assert {"role_high", "block_tokens", "state_every", "failover", "prompts", "wanders_to"} <= filled.keys()
    untouched = simulation(planner, **filled)
    assert untouched == simulation(planner)
    assert not DOCUMENT.keys() & untouched.keys()


def test_everything_that_is_typed_is_in_the_simulation(planner):
    found = simulation(planner, **EVERYTHING)
    assert {field: found.get(field) for field in DOCUMENT} == DOCUMENT


def test_everything_is_asked_again_as_it_was(planner):
    job = asked(planner, **EVERYTHING)
    Job.objects.update(state="cancelled")
    page = again(planner, job)
    assert folded(page)["open"] == [part for part in PARTS if part != "Link brown-out"]
    kept = {
        name: value
        for name, value in EVERYTHING.items()
        if f'value="{value}"' not in drawn(page, name).split("</p>")[0]
    }
    # rows move up where others were left empty
    moved = [name for name in EVERYTHING if re.fullmatch("(paths|windows|faults)_.*_[23]", name)]
    assert set(kept) <= set(moved)
    assert 'value="40"' in drawn(page, "paths_share_2")
    assert re.search('value="iteration" selected', drawn(page, "iterations"))


@pytest.mark.parametrize(
    "more",
    [
        {"weather": {"recording": {"interval_s": 60, "bps": [1e10, 2e10]}}},
        {"weather": {"background": {"kind": "recorded", "interval_s": 60, "share": [0.1, 0.2]}}},
        {"weather": {"windows": [{"begin_s": at, "end_s": at + 1} for at in range(4)]}},
        {"weather": {"fluctuation": {"sd_share": 0.1, "relaxation_s": 60, "step_s": 2}}},
        {"failures": [{"place": "pd_d", "mean_up_s": 1e5, "mean_down_s": 60}] * 2},
        {"paths": [{"share": 1, "weather": {"outages": {"mean_up_s": 100, "mean_down_s": 1}}}]},
        {"prompts": {"source": "sessions", "first": {"distribution": "empirical", "samples": [10, 20]}}},
    ],
)
@pytest.mark.once
def test_what_the_form_has_no_field_for_is_not_lost_by_asking_again(planner, more):
    job = asked(planner)
    Job.objects.update(state="cancelled")
    assert again(planner, job)
    job.input = job.input | {"simulation": job.input["simulation"] | more}
    job.save()
    assert again(planner, job) is None


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"ageing": "-1"}, "ageing", "greater than or equal to 0"),
        ({"batch_tokens": "some"}, "batch_tokens", "Enter a whole number. “some” is none."),
        ({"ageing": "much " * 20}, "ageing", "Enter a number. “much much much much much much much muc"),
        ({"ageing": "0.5"}, "ageing", "needs the order “Shortest first”"),
        ({"step_base": "20"}, "step_base", "needs decode by iteration"),
        ({"step_token": "2"}, "step_token", "needs decode by iteration"),
        ({"chunk_tokens": "9", "order": "shortest"}, "chunk_tokens", "needs the order “First come, first served”"),
        ({"roles": "yes", "role_room": "90"}, "role_room", "must be above 0 and at most “Short from”, 85 %"),
        ({"paths_share_1": "70", "paths_share_2": "20"}, "paths_share_1", "must be 100 % together, and are 90 %."),
        ({"faults_begin_s_1": "60", "faults_end_s_1": "50"}, "faults_end_s_1", "must be after “From”, 60 s"),
        ({"choice": "any"}, "choice", "Select a valid choice"),
        ({"memory_bytes": "0"}, "memory_bytes", "must be at least"),
        ({"others": "10", "others_mean": "20"}, "others", "not both"),
        ({"others_mean": "20"}, "others_swing", "is missing"),
        ({"wanders": "10"}, "memory", "is missing"),
        ({"up": "100"}, "down", "is missing"),
        ({"windows_begin_s_3": "9", "windows_end_s_3": "5"}, "windows_end_s_3", "must be after “From”, 9 s"),
        ({"windows_begin_s_2": "9"}, "windows_end_s_2", "is missing"),
        ({"connections": "0"}, "connections", "greater than or equal to 1"),
        ({"paths_share_2": "60"}, "paths_share_1", "Shares must be 100 % together, and are 60 %."),
        ({"faults_place_2": "pd_d", "faults_begin_s_2": "1", "faults_end_s_2": "2", "faults_instances_2": "9"},
            "faults_instances_2", "must be at most 5"),
        ({"fails_up_pd_d": "100"}, "fails_down_pd_d", "is missing"),
        ({"spares_ready_pd_p": "100"}, "spares_pd_p", "is missing"),
        ({"role_delay": "30"}, "role_delay", "only where roles change"),
        ({"roles": "yes", "role_high": "120"}, "role_high", "less than or equal to 100"),
        ({"systems": "3"}, "systems", "only of a trace or of sessions"),
        ({"prompts": "chat", "jitter": "3"}, "jitter", "only of a trace"),
        ({"prompts": "trace"}, "prompts", "Select a valid choice"),
        ({"prompts": "chat", "pd_bytes": "3"}, "prfaas_bytes", "is missing"),
        ({"pd_bytes": "3", "prfaas_bytes": "3"}, "pd_bytes", "needs prompts"),
        ({"prompts": "chat", "copies": "no"}, "pd_bytes", "is missing"),
    ],
)  # fmt: skip
@pytest.mark.once
def test_a_mistake_is_told_beside_its_field_whose_part_is_open(planner, changes, field, said):
    answer = ask(planner, **changes)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert said in beside(page, field)
    assert said in summary(page)
    assert not Job.objects.exists()
    assert f'id="{field}"' in page.split(f'data-part="{folded(page)["open"][0]}"')[1]


def test_what_cannot_be_had_together_is_told_beside_a_field(planner):
    page = ask(planner, batch_tokens="5000", chunk_tokens="100").content.decode()
    assert "must be 0 where prompts take turns in chunks" in beside(page, "batch_tokens")


def test_without_prfaas_nothing_of_it_can_fail(planner):
    page = planner.get(f"/simulate/?scenario={ALONE}").content.decode()
    assert folded(page)["closed"] == [
        "Prefill instances",
        "Decode",
        "Faults",
        "Roles that change",
        "Prompts",
        "Prefix caches",
    ]
    assert 'value="prfaas"' not in drawn(page, "faults_place_1")
    assert 'name="spares_prfaas"' not in page


def test_a_scenario_is_named_where_everything_is_off(planner):
    page = text(planner.get(f"/simulate/?scenario={CASE}").content.decode())
    for said in ("All empty: nothing fails.", "Both sizes empty: no caches.", "All empty: it is one."):
        assert said in page
