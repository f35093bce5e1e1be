"""The options of a simulation on the command line, and the document that they make together with a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from django.core.management.base import CommandError, CommandParser

from planner.catalog import files
from planner.management.documents import BAD_INPUT
from planner.simulating.circumstances import PlaceName

LOAD = 0.85
"""Unless something else is said."""
PROMPTS = {
    "trace": {"source": "trace"},
    "chat": {"source": "sessions", "kind": "chat"},
    "agents": {"source": "sessions", "kind": "agents"},
}
PLACES = ", ".join(get_args(PlaceName))

type Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Option:
    """An option, and the field of a simulation that it says; `names` are the fields of a table that it makes."""

    flag: str
    path: str
    said: str
    more: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    least: int = 0
    """Of these, how many must be given; 0: all."""
    is_list: bool = False
    made: Callable[[Any], Any] | None = None
    """What the document has for what was typed, where that is something else."""

    @property
    def typed(self) -> dict[str, Any]:
        """What the parser must know of it."""
        if not self.names:
            return dict(self.more)
        metavar = tuple(name.upper() for name in self.names)
        has_rest = 0 < self.least < len(self.names)
        shape: dict[str, Any] = {"nargs": "+" if has_rest else len(self.names)}
        shape["metavar"] = (metavar[0], " ".join(metavar[1:])) if has_rest else metavar
        return shape | ({"action": "append"} if self.is_list else {})

    def value(self, given: Any) -> Any:
        """The field's value. Raises CommandError on too few or too many."""
        if self.made:
            return self.made(given)
        if not self.names:
            return given
        return [self._table(each) for each in given] if self.is_list else self._table(given)

    def _table(self, given: Sequence[str]) -> Document:
        least = self.least or len(self.names)
        if not least <= len(given) <= len(self.names):
            raise CommandError(f"{self.flag}: must be {_usage(self.names, least)}", returncode=BAD_INPUT)
        return {name: _read(self.flag, text) for name, text in zip(self.names, given, strict=False)}


def _usage(names: Sequence[str], least: int) -> str:
    words = [name.upper() for name in names]
    return " ".join([*words[:least], *(f"[{word}]" for word in words[least:])])


def _read(flag: str, text: str) -> Any:
    try:
        return files.parse(text)
    except files.Unreadable as problem:
        raise CommandError(f"{flag} {text}: {problem}", returncode=BAD_INPUT) from problem


def _number(flag: str, path: str, said: str, kind: type = float, metavar: str = "S") -> Option:
    return Option(flag, path, said, {"type": kind, "metavar": metavar})


def _word(flag: str, path: str, said: str) -> Option:
    return Option(flag, path, said, {"metavar": "WORD"})


def _switch(flag: str, path: str, said: str, to: bool = True) -> Option:
    return Option(flag, path, said, {"action": "store_const", "const": to})


OPTIONS: dict[str, tuple[Option, ...]] = {
    "how much": (
        _number("--requests", "requests", "of each replication; 100,000", int, "N"),
        _number("--load", "load", f"share of Λ_max; {LOAD} unless --rate is given", metavar="SHARE"),
        _number("--rate", "rate_rps", "requests a second instead", metavar="RPS"),
        _number("--replications", "replications", "5 unless given", int, "N"),
        _number("--seed", "seed", "of the random numbers; 1", int, "N"),
        _number("--warm-up", "warm_up", "share that is not counted; 0.05", metavar="SHARE"),
        _number("--within", "ttft_within_s", "promise on TTFT: who keeps it is counted"),
    ),
    "routing and prefill": (
        _word("--policy", "policy", "as_given, all_local, all_remote or bandwidth_aware"),
        _switch("--no-failover", "failover", "a cluster that is down or cut off gets its requests all the same", False),
        _word("--order", "order", "fcfs or shortest"),
        _number("--ageing", "prefill.ageing", "of shortest: seconds of prefill that a second of waiting is worth"),
        _word("--choice", "prefill.choice", "of the instance: shared, shortest_queue or prefix_affine"),
        _number("--batch-tokens", "prefill.batch_tokens", "prompts are prefilled together up to these", int, "TOKENS"),
        _number("--chunk-tokens", "prefill.chunk_tokens", "after these the next has its turn", int, "TOKENS"),
    ),
    "decode": (
        _switch("--iterations", "decode.iterations", "decode by iteration: a batch steps together"),
        Option(
            "--step",
            "decode",
            "seconds of a step: base, each request, each token",
            names=("base_s", "request_s", "token_s"),
        ),
        _number("--decode-memory", "decode.memory_bytes", "for the KVCaches of an instance", metavar="BYTES"),
    ),
    "transfer": (
        _number("--chunks", "chunks", "in which a KVCache is sent; 1: after prefill; 16", int, "N"),
        _number("--connection", "connection_bps", "the most that one transfer gets", metavar="BPS"),
        _number("--connections", "tcp.connections", "TCP connections of a transfer", int, "N"),
        _number("--window-bytes", "tcp.window_bytes", "of each connection", metavar="BYTES"),
        _number("--loss", "tcp.loss", "share of packets", metavar="SHARE"),
        Option(
            "--path",
            "paths",
            "one of several ways; repeat it, the shares sum to 1",
            names=("share", "rtt_s"),
            least=1,
            is_list=True,
        ),
    ),
    "weather of the link": (
        Option(
            "--brown-out",
            "brown_out",
            "between these seconds the link carries no more than this",
            names=("begin_s", "end_s", "bps"),
        ),
        Option(
            "--window",
            "weather.windows",
            "the same, of each path; repeat it",
            names=("begin_s", "end_s", "bps"),
            is_list=True,
        ),
        Option(
            "--background",
            "weather.background",
            "share that others use",
            {"type": float, "metavar": "SHARE"},
            made=lambda share: {"kind": "constant", "share": share},
        ),
        Option(
            "--background-day",
            "weather.background",
            "others' use, once a day up and down",
            {"type": float, "nargs": 3, "metavar": ("MEAN", "AMPLITUDE", "PEAK_HOUR")},
            made=lambda day: (
                {"kind": "diurnal"} | dict(zip(("mean_share", "amplitude", "peak_hour"), day, strict=True))
            ),
        ),
        Option(
            "--fluctuation",
            "weather.fluctuation",
            "standard deviation as a share, and its memory",
            names=("sd_share", "relaxation_s", "most_share"),
            least=2,
        ),
        Option("--outages", "weather.outages", "mean seconds up and down, in turn", names=("mean_up_s", "mean_down_s")),
    ),
    "faults": (
        Option(
            "--fault",
            "faults",
            f"instances of {PLACES} down from begin to end, all unless a number is given; repeat it",
            names=("place", "begin_s", "end_s", "instances"),
            least=3,
            is_list=True,
        ),
        Option(
            "--failures",
            "failures",
            "each instance of a place up and down in turn, mean seconds; repeat it",
            names=("place", "mean_up_s", "mean_down_s"),
            is_list=True,
        ),
        Option(
            "--spares",
            "spares",
            "hot spares of a place, and how soon one takes over; repeat it",
            names=("place", "instances", "ready_s"),
            least=2,
            is_list=True,
        ),
    ),
    "roles": (
        _switch("--roles", "roles", "PD instances change their role as one is short"),
        _number("--role-delay", "roles.delay_s", "until a changed instance serves; 60"),
        _number("--role-period", "roles.period_s", "between two looks; 60"),
        _number("--role-high", "roles.high", "busy share above which a role is short; 0.85", metavar="SHARE"),
        _number("--role-room", "roles.room", "busy share below which the other one has room; 0.8", metavar="SHARE"),
        _number("--role-patience", "roles.patience", "looks in a row at which it is short; 2", metavar="N"),
        Option("--role-least", "roles", "instances that each role keeps", names=("least_prefill", "least_decode")),
        _switch("--role-keeps-t", "roles.retunes", "t does not follow the split", False),
    ),
    "prompts and prefix caches": (
        Option(
            "--prompts",
            "prompts",
            "what requests have in common: those of the scenario's trace, or sessions of chat or agents",
            {"choices": list(PROMPTS)},
            made=PROMPTS.get,
        ),
        _number("--jitter", "prompts.jitter_s", "of a trace: each request comes later by up to so much"),
        _number("--systems", "prompts.systems", "of sessions: different system prompts", int, "N"),
        _number("--system-tokens", "prompts.system_tokens", "of sessions", int, "TOKENS"),
        _number("--first-tokens", "prompts.first", "of sessions: the first input", metavar="TOKENS"),
        _number("--added-tokens", "prompts.added", "of sessions: what a turn adds", metavar="TOKENS"),
        _number("--answer-tokens", "prompts.output", "of sessions", metavar="TOKENS"),
        _number("--turns", "prompts.mean_turns", "of sessions, on average", metavar="N"),
        _number("--think", "prompts.think_s", "of sessions: mean time between two turns"),
        _number("--think-cv", "prompts.think_cv", "of sessions: coefficient of variation of that time", metavar="CV"),
        _number("--most-tokens", "prompts.most_tokens", "a session ends before it is longer", int, "TOKENS"),
        Option("--caches", "caches", "a prefix cache in each cluster", names=("pd_bytes", "prfaas_bytes")),
        _number("--block-tokens", "caches.block_tokens", "of a prefix cache's block; 512", int, "TOKENS"),
        _word("--cache-routing", "caches.routing", "what is judged against t: length, own, best or by_bandwidth"),
        _switch("--no-copies", "caches.copies", "a better prefix in the other cluster stays there", False),
        _number(
            "--state-every",
            "caches.state_every",
            "blocks between kept recurrent states; 0: whole prompts' only",
            int,
            "BLOCKS",
        ),
        _switch("--forget-answers", "caches.keeps_answers", "the PD cluster's cache keeps prompts only", False),
    ),
}


def add_options(parser: CommandParser) -> None:
    """Everything of a simulation but its scenario."""
    parser.add_argument(
        "--run",
        metavar="FILE",
        help="fields of a simulation as over REST, in YAML or JSON, or the JSON of a job: options win over them, and "
        "the scenario stays the argument's",
    )
    for title, options in OPTIONS.items():
        group = parser.add_argument_group(title)
        for option in options:
            group.add_argument(option.flag, dest=option.flag, help=option.said, **option.typed)


def simulation(options: Mapping[str, Any], scenario: Document) -> Document:
    """The document of a simulation of a scenario's document. Raises CommandError with exit status 2."""
    given = _from_file(options["run"])
    said = list(_said(options))
    if any(option.path in ("load", "rate_rps") for option, _ in said):
        given = {name: value for name, value in given.items() if name not in ("load", "rate_rps")}
    for option, typed in said:
        _put(given, option, option.value(typed))
    if given.get("load") is None and given.get("rate_rps") is None:
        given["load"] = LOAD
    return given | {"scenario": scenario}


def _said(options: Mapping[str, Any]) -> Iterator[tuple[Option, Any]]:
    for group in OPTIONS.values():
        for option in group:
            if options.get(option.flag) is not None:
                yield option, options[option.flag]


def _from_file(name: str | None) -> Document:
    """The fields that a file holds; of a job's result as it is taken away, those of its input."""
    if name is None:
        return {}
    try:
        found = files.read(Path(name))
    except files.Unreadable as problem:
        raise CommandError(f"--run {problem}", returncode=BAD_INPUT) from problem
    job = found.get("input")
    return job["simulation"] if isinstance(job, dict) and isinstance(job.get("simulation"), dict) else found


def _put(given: Document, option: Option, value: Any) -> None:
    """Sets a field; what else its table has stays."""
    *parents, last = option.path.split(".")
    holder = given
    for name in parents:
        if not isinstance(holder.get(name), dict):
            holder[name] = {}
        holder = holder[name]
    before = holder.get(last)
    if option.names and isinstance(value, dict) and isinstance(before, dict):
        value = before | value
    if value is True and last == "roles":
        value = before or {}
    holder[last] = value
