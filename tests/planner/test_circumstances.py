"""What happens to a simulated deployment, as documents: read, given to the engine, refused by field."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import SeedSequence
from pydantic import ValidationError

from planner import composing, seeding, store
from planner.documents.errors import DocumentError, from_validation
from planner.documents.fields import fields_by_place
from planner.engine.simulation.faults import Failures, Fault, Faults, Place, Spares
from planner.engine.simulation.tcp import Tcp
from planner.engine.simulation.weather import ConstantUse, DiurnalUse, OrnsteinUhlenbeck, Outages, Weather, Window
from planner.evaluation import evaluate
from planner.scenario import load, parse
from planner.scenario.schema import LinkTable
from planner.simulating.circumstances import MOST_LISTED, Conditions
from tests.planner.documents import shipped

THERE = {"prfaas": 4, "pd_p": 3, "pd_d": 5}
BUSY = {"kind": "diurnal", "mean_share": 0.3, "amplitude": 0.2, "peak_hour": 14.0}
FULL = {
    "weather": {
        "background": {"kind": "constant", "share": 0.25},
        "fluctuation": {"sd_share": 0.1, "relaxation_s": 60.0},
        "outages": {"mean_up_s": 3600.0, "mean_down_s": 30.0},
        "windows": [{"begin_s": 100.0, "end_s": 200.0, "bps": 1e9}, {"begin_s": 0, "end_s": 5}],
        "recording": {"interval_s": 300, "bps": [1e10, 2e10]},
    },
    "faults": [{"place": "prfaas", "begin_s": 10.0, "end_s": 20.0}],
    "failures": [{"place": "pd_d", "mean_up_s": 1e5, "mean_down_s": 600.0}],
    "spares": [{"place": "pd_d", "instances": 2, "ready_s": 15.0}],
    "tcp": {"connections": 16, "window_bytes": 4194304, "loss": 1e-6},
}


def link(**figures):
    return LinkTable.model_validate({"name": "wan", "from": "prfaas", "to": "pd", "bandwidth_bps": 1e11, **figures})


def refused(document, there=THERE):
    """The mistakes of a document, as fields and what is said of them."""
    try:
        read = Conditions.model_validate(document)
    except ValidationError as problem:
        return [(each.field, each.message) for each in from_validation(problem, document, allowed()).errors]
    return [(each.field, each.message) for each in read.mistakes(there)]


def allowed():
    return fields_by_place(Conditions)


def test_where_nothing_is_said_nothing_happens():
    nothing = Conditions()
    assert nothing.link_weather(link(rtt_s=0.03)) is None
    assert nothing.link_tcp(link(rtt_s=0.03)) is None
    assert nothing.all_faults() is None
    assert list(nothing.mistakes({})) == []


def test_a_document_is_what_the_engine_computes_with():
    read = Conditions.model_validate(FULL)
    weather = read.link_weather(link())
    assert weather.background == ConstantUse(0.25)
    assert weather.fluctuation == OrnsteinUhlenbeck(0.1, 60.0, step_s=1.0, most_share=2.0)
    assert weather.outages == Outages(3600.0, 30.0)
    assert weather.windows == (Window(100, 200, 1e9), Window(0, 5, 0))
    assert (weather.recording.interval_s, weather.recording.bps.tolist()) == (300, [1e10, 2e10])
    assert read.all_faults() == Faults(
        (Fault(Place.PRFAAS, None, 10, 20),), (Failures(Place.PD_D, 1e5, 600),), (Spares(Place.PD_D, 2, 15),)
    )
    assert read.link_tcp(link(rtt_s=0.03)) == Tcp(16, 0.03, 4_194_304, loss=1e-6)
    assert list(read.mistakes(THERE)) == []


def test_everything_runs_as_it_was_read():
    read = Conditions.model_validate(FULL)
    there = {Place(place): count for place, count in THERE.items()}
    assert read.link_weather(link()).stream(1e11, SeedSequence(1)).upto(1e4)[0][0] == 0
    assert read.all_faults().schedule(there, SeedSequence(1)).upto(15.0).size >= 4


def test_spares_alone_make_nothing_fail():
    assert Conditions.model_validate({"spares": FULL["spares"]}).all_faults() is None


# --- the link's own figures --------------------------------------------------------------------------------------


def test_what_a_link_says_of_itself_counts_where_the_simulation_says_nothing():
    own = link(rtt_s=0.1, connections=4, window_bytes=65_536, loss=1e-4, background=BUSY)
    assert Conditions().link_tcp(own) == Tcp(4, 0.1, 65_536, loss=1e-4)
    assert Conditions().link_weather(own) == Weather(DiurnalUse(0.3, 0.2, 14))
    changed = Conditions.model_validate(
        {"tcp": {"loss": 0.0}, "weather": {"background": FULL["weather"]["background"]}}
    )
    assert changed.link_tcp(own) == Tcp(4, 0.1, 65_536, loss=0.0)
    assert changed.link_weather(own) == Weather(ConstantUse(0.25))


def test_what_nobody_says_of_tcp_bounds_nothing_but_connections_are_eight():
    assert Conditions().link_tcp(link(rtt_s=0.1, loss=1e-4)) == Tcp(8, 0.1, math.inf, loss=1e-4)
    assert Conditions.model_validate({"tcp": {}}).link_tcp(link()) == Tcp(8, 0.0)


def test_what_a_link_was_seen_to_carry_it_carried_beside_the_others():
    seen = link(achieved_bps=2e10, background=BUSY)
    assert Conditions().link_weather(seen) is None
    asked = Conditions.model_validate({"weather": {"background": BUSY}})
    assert asked.link_weather(seen) == Weather(DiurnalUse(0.3, 0.2, 14))


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("weather.background.share", 1.5, "must be at most 1"),
        ("weather.background.kind", "tidal", "must be one of 'constant', 'diurnal', 'recorded'"),
        ("weather.fluctuation.sd_share", -0.1, "must be at least 0"),
        ("weather.fluctuation.step_s", 1e-9, "must be at least 0.001"),
        ("weather.outages.mean_up_s", 0.0, "must be at least 0.001"),
        ("weather.outages.mean_down_s", math.inf, "must be a finite number"),
        ("weather.windows.0.end_s", 100.0, "must be after begin_s, 100 s"),
        ("weather.windows.0.bps", -1.0, "must be at least 0"),
        ("weather.windows", [FULL["weather"]["windows"][0]] * (MOST_LISTED + 1), "takes at most 1000 entries"),
        ("weather.recording.bps", [], "needs at least 1 entries"),
        ("weather.recording.bps.1", "fast", "must be a number"),
        ("faults.0.place", "link", "must be one of 'prfaas', 'pd_p' or 'pd_d'"),
        ("faults.0.instances", 0, "must be at least 1"),
        ("faults.0.instances", 5, "must be at most 4: prfaas has no more"),
        ("faults.0.end_s", 10, "must be after begin_s, 10 s"),
        ("faults", [FULL["faults"][0]] * (MOST_LISTED + 1), "takes at most 1000 entries"),
        ("failures.0.mean_up_s", -1.0, "must be at least 0.001"),
        ("spares.0.instances", 1.5, "must be a whole number"),
        ("spares.0.ready_s", -1.0, "must be at least 0"),
        ("tcp.connections", 0, "must be at least 1"),
        ("tcp.window_bytes", 0.0, "must be at least 1"),
        ("tcp.loss", 1.0, "less than 1"),
        ("tcp.speed", 1.0, "is not a field here; allowed: connections, window_bytes, loss"),
    ],
)
def test_a_wrong_figure_is_told_by_its_field(path, value, said):
    *parents, last = path.split(".")
    document = copied(FULL)
    holder = document
    for key in parents:
        holder = holder[int(key) if isinstance(holder, list) else key]
    holder[int(last) if isinstance(holder, list) else last] = value
    (found,) = refused(document)
    assert found[0] == path
    assert said in found[1]


def copied(value):
    if isinstance(value, dict):
        return {key: copied(inner) for key, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list) else value


def test_nothing_fails_where_there_is_nothing():
    assert [field for field, _ in refused(FULL, {"pd_p": 3})] == [
        "faults.0.place",
        "failures.0.place",
        "spares.0.place",
    ]


def test_spares_of_a_place_are_given_once():
    found = refused({"spares": [{"place": "pd_p", "instances": 1}, {"place": "pd_p", "instances": 2}]})
    assert found == [("spares.1.place", "has its spares already; give their whole number once")]


@given(st.lists(st.tuples(st.sampled_from(list(THERE)), st.none() | st.integers(1, 6)), max_size=5))
def test_what_is_not_refused_the_engine_takes(wanted):
    faults = [{"place": place, "instances": count, "begin_s": 1.0, "end_s": 2.0} for place, count in wanted]
    read = Conditions.model_validate({"faults": faults})
    if faults and not list(read.mistakes(THERE)):
        read.all_faults().schedule({Place(place): count for place, count in THERE.items()}, SeedSequence(1))


# --- links of scenarios ------------------------------------------------------------------------------------------

CHIPS = {"remote": "h200", "local": "h20"}
OWN = {"loss": 1e-5, "connections": 16, "window_bytes": 16_777_216, "background": BUSY}


def test_a_scenario_without_them_stays_as_it_was():
    before = shipped()
    assert parse(before).document() == before
    assert not set(OWN) & set(before["links"][0])


def test_a_scenarios_link_may_say_what_tcp_and_others_make_of_it():
    document = shipped()
    document["links"][0] |= OWN | {"rtt_s": 0.03}
    read = parse(document).parsed.links[0]
    assert Conditions().link_tcp(read) == Tcp(16, 0.03, 16_777_216, loss=1e-5)
    assert Conditions().link_weather(read) == Weather(DiurnalUse(0.3, 0.2, 14))
    assert parse(document).document()["links"] == document["links"]


def test_the_steady_state_does_not_depend_on_them():
    document = shipped()
    plain = evaluate(parse(document))
    document["links"][0] |= OWN
    changed = evaluate(parse(document))
    assert {key: changed[key] for key in ("lambda_max_rps", "egress_bps")} == {
        key: plain[key] for key in ("lambda_max_rps", "egress_bps")
    }


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("links.wan.loss", 1.0, "less than 1"),
        ("links.wan.loss", -0.1, "must be at least 0"),
        ("links.wan.connections", 0, "must be at least 1"),
        ("links.wan.window_bytes", 0, "must be at least"),
        ("links.wan.background", {"kind": "constant", "share": 2}, "must be at most 1"),
        ("links.wan.background", {"kind": "tidal"}, "'constant', 'diurnal', 'recorded'"),
    ],
)
def test_a_scenarios_link_is_refused_by_its_field(path, value, said):
    with pytest.raises(DocumentError, match=said) as caught:
        load("case-study-prfaas-pd", {path: value})
    assert caught.value.told[0].field.startswith(path)


@pytest.mark.django_db
def test_a_catalogues_link_brings_its_own_along():
    seeding.seed()
    origin = {"kind": "measured", "source": "iperf3, Tuesday"}
    entry = {"name": "line", "bandwidth_bps": 1e11, "rtt_s": 0.03, **OWN, "provenance": {"loss": origin}}
    stored = store.create("links", entry)
    assert store.written(stored)["window_bytes"] == 16_777_216
    profiles = {place: composing.Fleet(f"internal-1t-hybrid-{hardware}x8", 4) for place, hardware in CHIPS.items()}
    chosen = composing.Composition(
        "mine", "", "internal-1t-hybrid", "case-study", profiles["local"], 2, 20, 0.025,
        remote=profiles["remote"], link="line", threshold_tokens=20_000,
    )  # fmt: skip
    composed = parse(composing.compose(chosen), catalogue=store.STORED)
    assert {field: composed.raw["links"][0][field] for field in OWN} == OWN
    assert composed.provenance("links.wan.loss") == origin
    assert Conditions().link_tcp(composed.parsed.links[0]) == Tcp(16, 0.03, 16_777_216, loss=1e-5)
