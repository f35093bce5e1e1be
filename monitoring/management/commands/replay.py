"""manage.py replay SCENARIO|RECORDING: a day of a deployment, sent through the doors of a running server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from monitoring import recording
from monitoring.replaying import course, emulated, installed, pace, playing
from monitoring.replaying import day as days
from monitoring.replaying.day import BrownOut, Burst, Day, Restart, Silence
from planner.simulating.replayed import Asked, DocumentError, asked, scenario_document

BAD_INPUT = 2
LOCAL_HOST = "127.0.0.1"
SPEED = 60.0
LOOKS_A_STEP = 4


class Command(BaseCommand):
    """Simulates first, in this process; then sends until the day is over, or Ctrl-C."""

    help = "Simulate a day of a scenario, or of a recording, and send it through the doors of a running server."
    requires_system_checks: list[str] = []  # noqa: RUF012 - Django's own declaration

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "what", metavar="SCENARIO|RECORDING", help="a scenario's name or file, or a recording's file"
        )
        parser.add_argument("--scenario", metavar="NAME|FILE", help="of a recording: the deployment that is simulated")
        parser.add_argument("--url", default="http://127.0.0.1:8000", help="of the server; http://127.0.0.1:8000")
        parser.add_argument(
            "--token", action="append", default=[], metavar="SOURCE=TOKEN", help="of a source at a server elsewhere"
        )
        parser.add_argument("--speed", type=float, default=SPEED, help="1: as fast as time; 60, an hour a minute")
        parser.add_argument("--as-recorded", action="store_true", help="keep the distance of times; at most 540 s")
        parser.add_argument("--duration", type=float, metavar="S", help="of the day; 86,400")
        parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random numbers; 1")
        parser.add_argument("--rounds", type=int, default=1, metavar="N", help="so many days; 0: until Ctrl-C")
        parser.add_argument("--only", nargs="+", choices=list(playing.DOORS), metavar="SOURCE", help="these alone")
        parser.add_argument("--until-input-ends", action="store_true", help="end with whoever holds the other end")
        _add_day(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["until_input_ends"]:
            threading.Thread(target=_interrupt_at_end_of_input, daemon=True).start()
        logging.getLogger("httpx").setLevel(logging.WARNING)
        try:
            given, day, duration_s = _simulation(options)
        except (DocumentError, recording.RecordingError, ValueError) as problem:
            raise CommandError(str(problem), returncode=BAD_INPUT) from problem
        with contextlib.suppress(KeyboardInterrupt):
            self._play(given, day, duration_s, options)

    def _play(self, given: Asked, day: Day, duration_s: float, options: dict[str, Any]) -> None:
        for round_ in _rounds(options["rounds"]):
            self.stdout.write(f"Simulating {duration_s:g} s of {given.scenario.name} …")
            self.stdout.flush()
            found = _simulated(given, options["seed"] + round_, duration_s, _look_s(options))
            sources = _chosen(emulated.sources(found, _link(given)), options["only"])
            self._send(given, sources, day, duration_s, options)

    def _send(
        self,
        simulated: Asked,
        sources: Sequence[emulated.Emulated],
        day: Day,
        duration_s: float,
        options: dict[str, Any],
    ) -> None:
        given = _tokens(options["token"])
        if not given:
            installed.watch(options["scenario"] or options["what"], simulated.scenario.name, _link(simulated))
        sources = [each for each in sources if not given or each.name in given]
        pages = None if given or options["as_recorded"] else playing.Pages(LOCAL_HOST, _free_port())
        tokens = given or installed.install(sources, pages)
        began_ms = round(time.time() * 1000) - (round(duration_s * 1000) if options["as_recorded"] else 0)
        paced = pace.Pace(began_ms, options["speed"], options["as_recorded"])
        for each in sources:
            self.stdout.write(f"  {installed.PREFIX}{each.name} by {playing.door(each.name, pages)}")
        self.stdout.write(f"Sending to {options['url']} at speed {paced.speed:g}, {_told_s(duration_s / paced.speed)}.")
        self.stdout.flush()
        failed = asyncio.run(playing.play(sources, day, paced, options["url"].rstrip("/"), tokens, pages))
        if failed:
            raise CommandError("; ".join(f"{name}: {reason}" for name, reason in failed.items()))


def _interrupt_at_end_of_input() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGINT)


def _add_day(parser: CommandParser) -> None:
    """What happens; a usual day with all of it unless one of these is given."""
    group = parser.add_argument_group("what happens, in seconds of the day; a usual day unless one of these is given")
    group.add_argument("--load", type=float, metavar="SHARE", help=f"of Λ_max on average over a day; {days.LOAD}")
    for flag, names, said in (
        ("--burst", ("BEGIN", "END", "FACTOR"), "so many times the requests"),
        ("--brown-out", ("BEGIN", "END", "BPS"), "the link carries no more than this"),
        ("--die", ("SOURCE", "BEGIN", "END"), "a source sends nothing"),
        ("--reset", ("SOURCE", "AT"), "a source's counters begin again"),
    ):
        group.add_argument(
            flag, action="append", nargs=len(names), default=[], metavar=names, help=f"{said}; repeat it"
        )
    group.add_argument("--calm", action="store_true", help="nothing happens but the day's swing")
    group.add_argument("--moves-t", action="store_true", help="t follows the link; else it stays as it is")


def _simulation(options: dict[str, Any]) -> tuple[Asked, Day, float]:
    """What is simulated, what happens in it, and for how long. Raises DocumentError, RecordingError and ValueError."""
    recorded = recording.measured(recording.read(options["what"])) if recording.is_one(options["what"]) else None
    if recorded and not options["scenario"]:
        raise ValueError("--scenario: is missing: a recording is replayed by a deployment that is simulated")
    scenario = scenario_document(options["scenario"] if recorded else options["what"])
    day = _day(options, scenario, recorded.duration_s if recorded else None)
    if options["as_recorded"] and day.duration_s > pace.MOST_RECORDED_S:
        raise ValueError(f"--duration: must be at most {pace.MOST_RECORDED_S:g} s with --as-recorded")
    pace.Pace(0, options["speed"])
    if recorded:
        document = recording.simulation(recorded, scenario).document
    else:
        document = days.simulation(scenario, day, options["seed"])
    return asked(days.over_tcp(document)), day, day.duration_s


def _day(options: dict[str, Any], scenario: dict[str, Any], recorded_s: float | None) -> Day:
    duration_s = options["duration"] or recorded_s or days.DAY_S
    load = options["load"] or days.LOAD
    own = any(options[name] for name in ("burst", "brown_out", "die", "reset", "calm"))
    if not own and recorded_s is None:
        links = scenario.get("links") or [{}]
        return days.usual(links[0].get("bandwidth_bps"), duration_s, load, moves_t=options["moves_t"])
    if recorded_s is not None and (options["burst"] or options["brown_out"]):
        raise ValueError("--burst and --brown-out: load and link of a recording are as they were recorded")
    return Day(
        duration_s,
        load,
        tuple(Burst(*_numbers("--burst", each)) for each in options["burst"]),
        tuple(BrownOut(*_numbers("--brown-out", each)) for each in options["brown_out"]),
        tuple(Silence(_source("--die", each), *_numbers("--die", each[1:])) for each in options["die"]),
        tuple(Restart(_source("--reset", each), *_numbers("--reset", each[1:])) for each in options["reset"]),
        moves_t=options["moves_t"],
    )


def _source(flag: str, given: Sequence[str]) -> str:
    if given[0] not in playing.DOORS:
        raise ValueError(f"{flag} {given[0]}: must be one of {', '.join(playing.DOORS)}")
    return given[0]


def _numbers(flag: str, given: Sequence[str]) -> list[float]:
    try:
        return [float(each) for each in given]
    except ValueError:
        raise ValueError(f"{flag} {' '.join(given)}: must be numbers") from None


def _rounds(count: int) -> Iterator[int]:
    done = 0
    while count == 0 or done < count:
        yield done
        done += 1


def _look_s(options: dict[str, Any]) -> float:
    """Some looks at the link for each sample of it."""
    step_s = pace.Pace(0, options["speed"], options["as_recorded"]).step_s
    return max(step_s / LOOKS_A_STEP, course.LOOKED_EVERY_S)


def _simulated(given: Asked, seed: int, duration_s: float, look_s: float) -> course.Course:
    """Raises CommandError."""
    try:
        return course.simulated(given.experiment, seed, duration_s, look_s)
    except (course.Overloaded, ValueError) as problem:
        raise CommandError(str(problem), returncode=BAD_INPUT) from problem


def _chosen(sources: list[emulated.Emulated], only: list[str] | None) -> list[emulated.Emulated]:
    return [each for each in sources if only is None or each.name in only]


def _link(given: Asked) -> str | None:
    links = given.scenario.parsed.links
    return links[0].name if links else None


def _tokens(pairs: Sequence[str]) -> dict[str, str]:
    """Raises CommandError."""
    found = {}
    for pair in pairs:
        name, equals, secret = pair.partition("=")
        if not equals or name not in playing.DOORS:
            known = ", ".join(playing.DOORS)
            raise CommandError(
                f"--token {name[:40]}: must be SOURCE=TOKEN, SOURCE one of {known}", returncode=BAD_INPUT
            )
        found[name] = secret
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOCAL_HOST, 0))
        return int(probe.getsockname()[1])


def _told_s(seconds: float) -> str:
    return f"for {seconds / 60:.3g} min" if seconds >= 60 else f"for {seconds:.3g} s"
