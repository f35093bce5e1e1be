"""A day in the case study, simulated once, for the tests of its replay."""

from functools import cache

from monitoring.replaying import course, day, emulated
from monitoring.replaying.day import BrownOut, Day
from planner import scenario
from planner.catalog import SHIPPED
from planner.simulating import document

DURATION_S, BROWN_OUT = 600.0, BrownOut(200.0, 300.0, 3e9)
SCENARIO = "case-study-prfaas-pd"
CALM, ROUGH = Day(DURATION_S), Day(DURATION_S, brown_outs=(BROWN_OUT,))


def scenario_document():
    return scenario.load(SCENARIO).document()


@cache
def simulated(which=CALM, seed=1, over_tcp=False):
    found = day.simulation(scenario_document(), which, seed)
    asked = document.parse(day.over_tcp(found) if over_tcp else found, SHIPPED)
    return course.simulated(asked.experiment, seed, which.duration_s)


@cache
def sources(which=CALM, over_tcp=False):
    return {each.name: each for each in emulated.sources(simulated(which, over_tcp=over_tcp), "wan")}
