"""What came of a replay, as people read it: how good the model is, and what another policy would have changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from frontend import figures
from frontend.replays import course
from frontend.side_by_side import decoding
from frontend.simulator.flows import interval, share
from monitoring.recording import parse
from planner.simulating.studies import verdict

type Document = Mapping[str, Any]

PERCENTILES = {"p50": "P50", "p90": "P90", "p99": "P99"}
QUANTITIES = {f"ttft_{name}_s": title for name, title in PERCENTILES.items()}
ROUTES = {"all": "all requests", "local": "prefilled locally", "remote": "prefilled by PrfaaS"}


@dataclass(frozen=True, slots=True)
class Compared:
    """A quantity as it was measured, and as the simulation of the same window has it."""

    label: str
    unit: str
    measured: str
    simulated: str
    difference: str
    said: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """A run: as it was, or a policy, and how its P90 differs from as it was."""

    title: str
    ttft: tuple[str, ...]
    gain: str
    said: str
    is_clear: bool
    offload: str
    egress: str
    waiting: str
    threshold: str
    instances: str
    is_base: bool
    without: str = ""
    """Why it has no TTFT, where it has none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page shows of a result."""

    headline: str
    begin: datetime
    end: datetime
    watch: str
    compared: tuple[Compared, ...]
    model: str
    caution: str
    tried: tuple[Tried, ...]
    notes: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    has_intervals: bool
    chart: dict[str, Any]
    ttft: dict[str, Any]
    percentiles: tuple[str, ...] = tuple(PERCENTILES.values())


def answer(result: Document, replay: Document) -> Answer:
    """The page of a result, from it and from the input of its job."""
    base, recording = result["runs"][0], parse(replay["recording"])
    compared = tuple(_compared(result["measured"], base))
    return Answer(
        headline=headline(result),
        begin=moment(result["start_ms"]),
        end=moment(result["start_ms"] + round(1000 * recording.duration_s)),
        watch=result["watch"],
        compared=compared,
        model=model(result["calibration"]),
        caution=caution(result["calibration"], result["runs"]),
        tried=tuple(_tried(run, base) for run in result["runs"]),
        notes=tuple(result["notes"]),
        facts=tuple(_facts(result, recording.sources)),
        has_intervals=result["replications"] > 1,
        chart=course.simulated(recording, result),
        ttft=_times(result),
    )


def moment(ms: int) -> datetime:
    """From epoch milliseconds."""
    return datetime.fromtimestamp(ms / 1000, UTC)


# --- in a sentence -----------------------------------------------------------------------------------------------


def headline(result: Document) -> str:
    """Which policy would have had the lowest P90, and by how much."""
    base = result["runs"][0]
    if not base["ttft_s"]:
        return "As it was, some requests were never finished in the simulation: there is no TTFT to compare with."
    was = interval(base["ttft_s"]["p90"], figures.seconds, " s")
    best = _best(result["runs"])
    if best is None:
        return f"None of what was tried has a clearly lower P90 TTFT than there was, {was}."
    found = best["differences"]["ttft_p90_s"]
    would = interval(best["ttft_s"]["p90"], figures.seconds, " s")
    less = figures.percent(-found["share"])
    chance = "" if found["is_clear"] else " One replication alone cannot tell it from chance."
    return f"{best['title']}: P90 TTFT would have been {would} instead of {was}, {less} % less.{_price(best)}{chance}"


def _best(runs: list[Document]) -> Document | None:
    """The policy with the lowest P90, if one is lower than as it was by more than chance."""
    better = [run for run in runs[1:] if _is_better(run)]
    return min(better, key=lambda run: float(run["ttft_s"]["p90"]["mean"]), default=None)


def _price(run: Document) -> str:
    """Percentiles that are clearly higher, though P90 is lower."""
    higher = [
        f"{title} {figures.percent(found['share'])} % more"
        for name, title in PERCENTILES.items()
        if (found := run["differences"].get(f"ttft_{name}_s")) and found["is_clear"] and found["mean"] > 0
    ]
    return f" But {' and '.join(higher)}." if higher else ""


def _is_better(run: Document) -> bool:
    found = (run["differences"] or {}).get("ttft_p90_s")
    return bool(run["ttft_s"] and found and found["mean"] < 0 and found["is_clear"] is not False and found["share"])


# --- measured and simulated --------------------------------------------------------------------------------------


def _compared(measured: Document, base: Document) -> Iterator[Compared]:
    """Nothing of what was not measured."""
    simulated = {"all": base["ttft_s"], **base["ttft_by_route_s"]}
    for route, told in sorted(measured["ttft_s"].items(), key=lambda item: list(ROUTES).index(item[0])):
        for name, title in PERCENTILES.items():
            if told[name] and simulated.get(route):
                yield _percentile(f"TTFT {title}, {ROUTES[route]}", told[name], simulated[route][name])
    if (was := measured["offload_fraction"]) is not None:
        of = base["offload_fraction"]
        difference = figures.difference(of["mean"], was)
        yield Compared("Offloaded requests, p", "%", figures.percent(was), share(of), difference)
    if (was := measured["egress_bps"]) is not None:
        of = base["egress_bps"]
        difference = figures.difference(of["mean"], was)
        yield Compared("Egress, mean", "Gbps", figures.gbps(was), interval(of, figures.gbps), difference)
    if measured["waiting"]:
        waiting = _mean(base["bands"]["waiting"]["mean"])
        was = measured["waiting"]["mean"]
        yield Compared("Requests that wait, mean", "", _one(was), _one(waiting), figures.difference(waiting, was))


def _percentile(label: str, told: Document, estimate: Document) -> Compared:
    """The bucket that it lies in says how exactly it was measured."""
    low, high, value = told["low"], told["high"], told["value"]
    written = interval(estimate, figures.seconds)
    if value is None:
        beyond = f"more than {figures.seconds(low)}"
        return Compared(label, "s", beyond, written, figures.NONE, "beyond the last bucket")
    said = _where(estimate, low, high)
    bucket = f"{figures.seconds(value)} [{figures.seconds(low)}, {figures.seconds(high)}]"
    return Compared(label, "s", bucket, written, figures.difference(estimate["mean"], value), said)


def _where(estimate: Document, low: float, high: float) -> str:
    if low <= estimate["mean"] <= high:
        return "lies in the measured bucket"
    if estimate["low"] is not None and estimate["low"] <= high and estimate["high"] >= low:
        return "outside the measured bucket, which its interval reaches"
    return "outside the measured bucket"


def model(told: list[Document]) -> str:
    """How far the simulation of it is from what was measured, in a sentence."""
    known = [each for each in told if each["is_within"] is not None]
    if not known:
        return "TTFT was not measured, or not in one set of buckets: nothing says how good the simulation is."
    said = ", ".join(f"{QUANTITIES[each['quantity']]} {_off(each)}" for each in known)
    outside = [QUANTITIES[each["quantity"]] for each in known if not each["is_within"]]
    where = f"{' and '.join(outside)} outside the measured bucket" if outside else "each in the measured bucket"
    return f"As it was, simulated against measured TTFT: {said}; {where}."


def _off(each: Document) -> str:
    if each["difference"] is None:
        return f"{figures.seconds(each['simulated'])} s against more than {figures.seconds(each['low'])} s"
    return f"{figures.difference(each['simulated'], each['measured'])} %"


def caution(told: list[Document], runs: list[Document]) -> str:
    """What is to be said where the simulation is off by more than it says that a policy gains."""
    p90 = next((each for each in told if each["quantity"] == "ttft_p90_s"), None)
    best = _best(runs)
    if best is None or p90 is None or p90["is_within"] or p90["difference"] is None:
        return ""
    if abs(p90["difference"]) < -best["differences"]["ttft_p90_s"]["share"]:
        return ""
    return "The simulation of as it was is off by more than that gain: take it as a direction, and not as a figure."


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _one(value: float | None) -> str:
    return figures.NONE if value is None else figures.rounded(value, 1)


# --- had you followed it -----------------------------------------------------------------------------------------


def _tried(run: Document, base: Document) -> Tried:
    times, found = run["ttft_s"], (run["differences"] or {}).get("ttft_p90_s")
    there = run["instances"]
    return Tried(
        title=run["title"],
        ttft=tuple(interval(times[name], figures.seconds) for name in PERCENTILES) if times else (),
        gain=_gain(found, base) if found and times and base["ttft_s"] else figures.NONE,
        said=verdict.SHORT.get(found["verdict"] or "", "") if found else "",
        is_clear=bool(found and found["is_clear"]),
        offload=share(run["offload_fraction"]),
        egress=interval(run["egress_bps"], figures.gbps),
        waiting=_one(max(run["bands"]["waiting"]["mean"])),
        threshold=_thresholds(run),
        instances=f"{there['prfaas']} / {there['prefill']} / {there['decode']}",
        is_base=run is base,
        without=f"{run['unfinished']:,} requests never finished" if run["unfinished"] else "",
    )


def _gain(found: Document, base: Document) -> str:
    """Of P90, with its interval, in percent of what it was."""
    was = base["ttft_s"]["p90"]["mean"]
    mean, low, high = (
        None if found[name] is None else f"{100 * found[name] / was:+.1f}".replace("-", "−")
        for name in ("mean", "low", "high")
    )
    return f"{mean}" if low is None else f"{mean} [{low}, {high}]"


def _thresholds(run: Document) -> str:
    known = [value for value in run["series"]["threshold_tokens"] if value is not None]
    if not known:
        return figures.NONE
    low, high = figures.tokens(min(known)), figures.tokens(max(known))
    return low if low == high else f"{low} to {high}"


def _facts(result: Document, sources: list[str]) -> Iterator[tuple[str, str]]:
    measured = result["measured"]
    yield "Recorded", f"{measured['intervals']:,} intervals of {measured['interval_s']} s"
    yield "Not measured of them", f"{measured['not_measured']:,}"
    yield "Requests recorded", f"{measured['requests']:,}"
    yield "Rate, mean", f"{figures.rate(result['rate_rps'])} req/s"
    if measured["link"]:
        yield "Link", str(measured["link"])
    if share_of := measured.get("recommended_share"):
        yield "Recommended t", f"in {figures.percent(share_of)} % of the window"
    yield "Sources", ", ".join(sources) or figures.NONE
    yield "Curves of", str(result["scenario"])
    yield "Decode", decoding(result["runs"][0])
    yield "Replications", f"{result['replications']:,} of {result['requests']:,} requests"
    yield "Seed", str(result["seed"])


def _times(result: Document) -> dict[str, Any]:
    """The chart of TTFT: measured with its buckets, each run with its interval."""
    return {
        "measured": result["measured"]["ttft_s"].get("all"),
        "runs": [{"title": run["title"], "ttft_s": run["ttft_s"]} for run in result["runs"] if run["ttft_s"]],
        "replications": result["replications"],
        "provenance": {"kind": result["provenance"], "source": course.SOURCE},
    }


# --- as a file ---------------------------------------------------------------------------------------------------

BOUNDS = ("mean", "low", "high")


def lines(result: Document) -> Iterator[list[Any]]:
    """What was measured, then a line for each run, in SI units; empty where there is nothing."""
    yield [
        "run", "threshold_tokens", "n_prfaas", "n_prefill", "n_decode",
        *(f"ttft_{name}_s_{bound}" for name in PERCENTILES for bound in BOUNDS),
        *(f"{name}_{bound}" for name in ("offload_fraction", "egress_bps") for bound in BOUNDS),
        *(f"ttft_p90_difference_s_{bound}" for bound in BOUNDS), "stable",
    ]  # fmt: skip
    measured = result["measured"]
    told, t = measured["ttft_s"].get("all") or {}, measured["threshold_tokens"] or {}
    there = [(measured["instances"].get(role) or {}).get("median") for role in ("prfaas", "prefill", "decode")]
    buckets = [told.get(name) or {} for name in PERCENTILES]
    yield [
        "measured; low and high are of the bucket", t.get("median"), *there,
        *(bucket.get(name) for bucket in buckets for name in ("value", "low", "high")),
        measured["offload_fraction"], None, None, measured["egress_bps"], None, None, None, None, None, None,
    ]  # fmt: skip
    for run in result["runs"]:
        times, found = run["ttft_s"] or {}, (run["differences"] or {}).get("ttft_p90_s") or {}
        yield [
            run["title"], run["threshold_tokens"], *run["instances"].values(),
            *((times.get(name) or {}).get(bound) for name in PERCENTILES for bound in BOUNDS),
            *(run[name][bound] for name in ("offload_fraction", "egress_bps") for bound in BOUNDS),
            *(found.get(bound) for bound in BOUNDS), run["stable"],
        ]  # fmt: skip
