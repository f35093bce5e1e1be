"""python -m tests.figures.closed_loop: the figures and plots of docs/live-controller.md."""

import argparse
from pathlib import Path

import numpy as np

from planner.engine.closed_loop import Loop, pooled, smoothed, turns
from tests.engine import fluid
from tests.engine.closed_loops import (
    END_S,
    LOADED_S,
    LOADS,
    ONSET_S,
    RETURN_S,
    SETTLED_S,
    STEP,
    courses,
    excess_backlog,
    loaded,
    stops_growing,
)
from tests.figures.svg import Panel, chart

PLOTS = Path(__file__).parents[2] / "docs" / "figures"
LOOKS_S = 5
DELAYS_S = (0, 5, 15, 30)
LOOPS = {f"{delay} s": Loop(delay_s=delay, every_s=LOOKS_S) for delay in DELAYS_S}
LOOPS["0 s, capacity not told"] = Loop(every_s=LOOKS_S, tells_capacity=False)
WITHIN = ONSET_S + 600, ONSET_S + 1200
HOURS = (RETURN_S - ONSET_S - SETTLED_S) / 3600
RESAMPLED = 2000
COLUMNS = (
    "telemetry comes after",
    "in the system, by quarter of the hour",
    "wait for the link, most in the first minute",
    "and in minutes 2 to 10",
    "beyond a link that was narrow all along, most in minutes 2 to 10",
    "stops growing",
    "P99, 600 to 1,200 s after the onset",
    "P99, where the link was narrow all along",
    "ratio",
    "P99, the hour",
    "mean, the hour",
    "turns an hour, mean and most",
    "greatest turn",
    "t is back after, median and most",
)


def ratio_interval(found, narrow):
    """95 % of the ratio of both P99, by drawing runs anew, each with its twin of the same requests."""
    rng, pairs = np.random.default_rng(1), list(zip(found, narrow, strict=True))
    ratios = []
    for _ in range(RESAMPLED):
        drawn = [pairs[at] for at in rng.integers(len(pairs), size=len(pairs))]
        ratios.append(pooled([a for a, _ in drawn], *WITHIN, 0.99) / pooled([b for _, b in drawn], *WITHIN, 0.99))
    return np.quantile(ratios, [0.025, 0.975])


def returned_after(course):
    """Seconds after the link's return from which on t stays within 15 % of what it was."""
    before, t = course.threshold(ONSET_S - 1, ONSET_S)[0], course.threshold(RETURN_S, END_S)
    off = np.flatnonzero(np.abs(np.log(t / before)) > np.log(1.15))
    return off[-1] + 1 if off.size else 0


def brown_out(runs):
    """A row for each way of seeing it."""
    static = courses(runs, None)
    print(f"\n{runs} runs, seed 1; looks every {LOOKS_S} s\n")
    grown = smoothed(static, "in_system", 300)[[2, 6, 10, 14]]
    print(
        "static t: in the system",
        np.round(grown),
        "P99 of the hour",
        f"{pooled(static, ONSET_S, RETURN_S, 0.99):.0f} s",
    )
    print("| " + " | ".join(COLUMNS) + " |")
    for name, loop in LOOPS.items():
        found, narrow = courses(runs, loop), courses(runs, loop, 0, seconds=2100)
        backlog = smoothed(found, "link", 30)[ONSET_S // 30 : ONSET_S // 30 + 20]
        excess = excess_backlog(found, narrow)
        all_turns = [turns(run.threshold(ONSET_S + SETTLED_S, RETURN_S), STEP) for run in found]
        back = [returned_after(run) for run in found]
        settling, settled = (pooled(each, *WITHIN, 0.99) for each in (found, narrow))
        low, high = ratio_interval(found, narrow)
        hour = np.concatenate([run.between(ONSET_S, RETURN_S) for run in found])
        counts = np.array([each.size for each in all_turns]) / HOURS
        cells = [
            name,
            " ".join(f"{each:.0f}" for each in smoothed(found, "in_system", 900)[1:5]),
            f"{backlog[:2].max():.1f}",
            f"{backlog[2:].max():.1f}",
            f"{excess.mean(axis=0)[2:].max():.1f}",
            str(stops_growing(excess)),
            f"{settling:.1f}",
            f"{settled:.1f}",
            f"{settling / settled:.3f} [{low:.3f}, {high:.3f}]",
            f"{np.quantile(hour, 0.99):.1f}",
            f"{hour.mean():.1f}",
            f"{counts.mean():.1f}, {counts.max():.1f}",
            f"{max(each.max() if each.size else 1 for each in all_turns):.2f}",
            f"{np.median(back):.0f}, {max(back):.0f}",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


def known(runs):
    """The P99 of static thresholds that nobody knows beforehand."""
    from planner.engine.closed_loop.following import follow
    from tests.engine.closed_loops import brown_out as experiment

    for t in (27e3, 28e3, 29e3, 30e3, 31e3):
        found = [follow(experiment(), None, RETURN_S, 1, index, threshold_tokens=t) for index in range(runs)]
        hour = np.concatenate([run.between(ONSET_S, RETURN_S) for run in found])
        print(
            f"static t {t / 1e3:g}K in that hour: P99 {np.quantile(hour, 0.99):.1f} s, mean {hour.mean():.1f} s",
            flush=True,
        )


def loads():
    """A row for each load and delay."""
    print("\n| load | telemetry comes after | turns an hour | greatest | P99 | P99, t = 19.4K |")
    for name in LOADS:
        static = pooled([loaded(name, None)], 600, LOADED_S, 0.99)
        for delay in DELAYS_S:
            run = loaded(name, LOOPS[f"{delay} s"])
            found = turns(run.threshold(600, LOADED_S), STEP)
            per_hour, most = found.size / (LOADED_S - 600) * 3600, found.max() if found.size else 1
            p99 = pooled([run], 600, LOADED_S, 0.99)
            print(f"| {name} | {delay} s | {per_hour:.1f} | {most:.2f} | {p99:.1f} | {static:.1f} |", flush=True)


def plot_brown_out(runs):
    """t of one run, and what waits, averaged over all."""
    static, followed, late = courses(runs, None), courses(runs, LOOPS["0 s"]), courses(runs, LOOPS["30 s"])
    minutes = (np.arange(END_S // 30) + 0.5) / 2 - ONSET_S / 60
    shaded = (0, (RETURN_S - ONSET_S) / 60)
    three = {"static t": static, "followed, 30 s late": late, "followed": followed}
    colours = {"static t": "#6b7280", "followed": "#1b5e9e", "followed, 30 s late": "#c2410c"}

    def panel(title, lines, label=""):
        return Panel(title, lines, label, shaded, 0.0, colours)

    kilo = {name: (minutes, smoothed(each[:1], "threshold_tokens", 30) / 1e3) for name, each in three.items()}
    panels = [
        panel("t in K tokens, one run", kilo),
        panel("requests in the system, mean", {n: (minutes, smoothed(e, "in_system", 30)) for n, e in three.items()}),
        panel(
            "requests that wait for the link, mean",
            {n: (minutes, smoothed(e, "link", 30)) for n, e in three.items() if n != "static t"},
            "minutes after the link fell from 100 to 6 Gbps",
        ),
    ]
    _write("closed-loop-brown-out", panels, "A brown-out under a static and under the recommended threshold")


def plot_loads():
    """Arrivals and t under each load."""
    panels, minutes = [], (np.arange(LOADED_S // 30) + 0.5) / 2
    for name in LOADS:
        lines = {}
        for delay in (30, 0):
            run = loaded(name, LOOPS[f"{delay} s"])
            lines[f"t, {delay} s late"] = minutes, smoothed([run], "threshold_tokens", 30) / 1e3
        rate = LOADS[name].rate_at(minutes * 60, LOADS[name].mean_rps)
        lines["10 × arrivals in req/s"] = minutes, 10 * rate
        panels.append(Panel(f"{name}: t in K tokens", lines, low=0.0, colours={"10 × arrivals in req/s": "#9ca3af"}))
    panels[-1].x_label = "minutes"
    _write("closed-loop-loads", panels, "The recommended threshold under four loads on a link of 10 Gbps")


def plot_fluid():
    """t without chance, for each delay, and for a profile that is wrong."""
    seconds = np.arange(3000)
    kept = seconds % 10 == 0
    lines = {}
    for delay in DELAYS_S:
        t = fluid.followed(lambda _: 1.8, lambda second: 6e9 if 300 <= second < 2400 else 100e9, 3000, delay)[:, 0]
        lines[f"{delay} s late"] = seconds[kept] / 60 - 5, t[kept] / 1e3
    wrong = {}
    for more in (0.8, 1.1, 1.25):
        t = fluid.followed(lambda _: 1.5, lambda _: 6e9, 3000, 30, more_kv=more)[:, 0]
        wrong[f"KV × {more:g}"] = seconds[kept] / 60, t[kept] / 1e3
    panels = [
        Panel("brown-out at 1.8 req/s: t in K tokens", lines, "minutes after the onset", (0, 35), 15.0),
        Panel("wrong profile, 1.5 req/s, 30 s late: t in K tokens", wrong, "minutes", None, 15.0),
    ]
    _write("closed-loop-fluid", panels, "The recommended threshold without chance")


def _write(name, panels, description):
    PLOTS.mkdir(exist_ok=True)
    (PLOTS / f"{name}.svg").write_text(chart(panels, description))


def main():
    """Everything; or the plots alone, from fewer runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--plots-only", action="store_true")
    options = parser.parse_args()
    if not options.plots_only:
        brown_out(options.runs)
        known(options.runs)
        loads()
    plot_brown_out(options.runs)
    plot_loads()
    plot_fluid()


if __name__ == "__main__":
    main()
