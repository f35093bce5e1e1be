"""Half an hour of the case study whose link browns out, under a threshold that stands still, as telemetry has it."""

import json
import time
from functools import cache

import numpy as np
from django.db import transaction

from monitoring import mappings
from monitoring.live.messages import AdviceNow
from monitoring.mapping.engine import State, map_readings
from monitoring.models import Source, Watch
from monitoring.recommending.samples import of_advice
from monitoring.replaying import course, day, emulated
from monitoring.replaying.day import BrownOut, Day
from monitoring.replaying.pace import Pace
from monitoring.signals import OWN_SOURCE
from monitoring.storage.writer import Writer
from planner import tasks
from planner.catalog import SHIPPED
from planner.simulating import document
from tests.monitoring.replayed import SCENARIO, scenario_document

DURATION_S, EVERY_S, SEED = 1800.0, 5.0, 4
BROWN_OUT = BrownOut(300.0, 900.0, 4e9)
DAY = Day(DURATION_S, load=0.6, brown_outs=(BROWN_OUT,))
WATCH = "shanghai"


@cache
def simulation(policy="as_given"):
    """The document of that half hour, as it truly was."""
    found = day.simulation(scenario_document(), DAY, SEED) | {"policy": policy}
    asked = document.parse(found, SHIPPED)
    return found | {"load": None, "rate_rps": asked.experiment.rate_rps}


@cache
def truth(policy="as_given", seed=SEED, look_s=2.0):
    """How it went, request by request; with another seed, how it might have gone as well."""
    return course.simulated(document.parse(simulation(policy), SHIPPED).experiment, seed, DURATION_S, look_s)


def begun_ms(ago_s=3600.0):
    """A beginning that is so long ago, in whole intervals: rollups are kept for a week."""
    return round(time.time() - ago_s) // 600 * 600_000


def store(start_ms, names=("router", "gateway"), policy="as_given"):
    """What sources tell of it, as the doors' pipeline would store it."""
    times = np.arange(0.0, DURATION_S + 1, EVERY_S)
    told = {each.name: each for each in emulated.sources(truth(policy), "wan")}
    for name in names:
        source, _ = Source.objects.get_or_create(name=f"planted-{name}")
        readings = told[name].readings(times.tolist(), 0.0, Pace(start_ms, 1.0))
        outcome = map_readings(readings, told[name].labels, mappings.compiled_for(told[name].systems), State())
        with transaction.atomic():
            Writer().store([(source.pk, series) for series in outcome.mapped])


def advised(start_ms, told):
    """What was recommended to its watch, at so many seconds: a t, or None where nothing was."""
    source, _ = Source.objects.get_or_create(name=OWN_SOURCE)
    said = (
        AdviceNow(start_ms + 1000 * at_s, "throughput", "hold", "", [] if t else ["no_lengths"], t) for at_s, t in told
    )
    with transaction.atomic():
        Writer().store([(source.pk, series) for advice in said for series in of_advice(WATCH, advice)])


def watched(**fields):
    """The watch of the case study."""
    return Watch.objects.create(name=WATCH, **({"title": "Shanghai to Beijing", "scenario": SCENARIO} | fields))


def ran(job):
    """The result of a job in parts, as workers compute it."""
    cut = tasks.IN_PARTS[job.kind]
    kind, parts = tasks.KINDS[cut.part], []
    for given in cut.parts(job.input):
        posed = kind.problem(given)
        parts.append(kind.result(given, posed, kind.function(posed, lambda *news: None)))
    return json.loads(json.dumps(cut.merge(job.input, json.loads(json.dumps(parts))), allow_nan=False))


def ttft_s(course_of):
    """Of the requests that arrived in the half hour."""
    some = course_of.requests[course_of.requests["arrival_s"] < DURATION_S]
    return some["first_s"] - some["arrival_s"]
