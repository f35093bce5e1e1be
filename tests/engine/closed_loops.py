"""Experiments: the brown-out of the simulator's case study, and loads that change on a narrow link."""

from functools import cache

import numpy as np

from planner.engine.arrivals import Recorded
from planner.engine.closed_loop import smoothed
from planner.engine.closed_loop.following import follow
from planner.engine.simulation import Experiment, Path, Transport
from planner.engine.simulation.weather import Weather, Window
from tests.engine.case_study import prfaas_pd

ONSET_S, RETURN_S, END_S = 900, 4500, 6000
RATE_RPS, BROWN_BPS = 1.8, 6e9
SEED = 1
INTERVAL_S = 10.0
LOADED_S = 4500


def brown_out(begin_s=ONSET_S, rate_rps=RATE_RPS, end_s=RETURN_S):
    """100 Gbps, of which 6 are left for a while."""
    path = Path(weather=Weather(windows=(Window(begin_s, end_s, BROWN_BPS),)))
    requests = int(rate_rps * END_S * 1.1 + 500)
    return Experiment(prfaas_pd(), rate_rps, requests=requests, transport=Transport(paths=(path,)))


@cache
def courses(count, loop, begin_s=ONSET_S, seconds=END_S, rate_rps=RATE_RPS):
    """Replications 0 to `count - 1` of a brown-out; those of another loop have the same requests."""
    return [follow(brown_out(begin_s, rate_rps), loop, seconds, SEED, index) for index in range(count)]


def _load(rates_rps):
    """Of each ten seconds, by a function of time in seconds."""
    rates = np.array([rates_rps(second) for second in np.arange(0.0, 2 * LOADED_S, INTERVAL_S) + INTERVAL_S / 2])
    return Recorded(INTERVAL_S, rates)


LOADS = {
    "step": _load(lambda s: 2.4 if 1200 <= s < 3000 else 1.2),
    "ramp": _load(lambda s: float(np.interp(s, [900, 2700], [1.0, 2.5]))),
    "burst": _load(lambda s: 3.6 if s >= 600 and s % 600 < 60 else 1.6),
    "sine": _load(lambda s: 1.8 + 0.7 * np.sin(2 * np.pi * s / 1200)),
}
"""Requests a second on a link of 10 Gbps, of which the best t carries 2.6 with headroom and 2.75 without."""


def loaded(name, loop, index=0):
    """A run of a load."""
    arrivals = LOADS[name]
    rate = arrivals.mean_rps
    requests = int(arrivals.recorded_rps[: int(LOADED_S / INTERVAL_S)].sum() * INTERVAL_S * 1.15 + 300)
    experiment = Experiment(prfaas_pd(bandwidth_bps=10e9), rate, arrivals, requests, rule=None)
    return follow(experiment, loop, LOADED_S, SEED, index)


# --- criteria ----------------------------------------------------------------------------------------------------

SETTLED_S = 300
"""After which t may no longer be on its way."""
STEP = 1.12
"""Moves of t by a step, 1.1, are no turns; ..."""
MOST_TURNS_PER_HOUR = 15
"""... of the others so many, one in four minutes. A loop that swings by itself takes four times its delay for a period:
window, mean and delay are 15 to 45 s, and two turns a period would make 40 to 120 an hour."""


SPAN_S, FIRST_S = 30, 60


def excess_backlog(found, narrow):
    """Requests that wait for the link, by run and half minute from the onset on, for ten minutes, beyond those of the
    same requests where the link was narrow all along, shape (runs, 20)."""
    spans = slice(ONSET_S // SPAN_S, (ONSET_S + 600) // SPAN_S)
    both = [[smoothed([run], "link", SPAN_S)[spans] for run in runs] for runs in (found, narrow)]
    return np.array(both[0]) - np.array(both[1])


def stops_growing(excess):
    """Whether in no half minute after the first minute it is significantly more than in that, nor more than none."""
    mean, error = excess.mean(axis=0), excess.std(axis=0, ddof=1) / np.sqrt(len(excess))
    first = FIRST_S // SPAN_S
    return bool(np.all((mean - 2 * error)[first:] <= max(mean[:first].max(), 0.0)))
