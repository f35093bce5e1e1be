"""What the list of each kind shows: every column with its unit, its place in the document, and what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.urls import reverse

from frontend import figures
from frontend.catalogue.origins import Origin, origin_of, weakest
from frontend.catalogue.units import BILLIONS, GB, GBPS, KIB, MIB, MS, PLAIN, TB_PER_S, TFLOPS, TOKENS, WATTS, Unit
from planner.facts import AT_TOKENS
from planner.models import Entry

type Related = Mapping[str, Entry]
"""Entries that those of a list name, by name."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `key` names it in files, where it is in SI units; `rests_on` are paths of figures under it,
    or where none of them is there, `or_else_on`."""

    key: str
    label: str
    read: Callable[[Entry, Related], Any]
    unit: Unit = PLAIN
    decimals: int = 0
    is_text: bool = False
    order: str = ""
    rests_on: tuple[str, ...] = ()
    or_else_on: tuple[str, ...] = ()
    formula: str = ""
    refers_to: str = ""

    def cell(self, entry: Entry, related: Related) -> Cell:
        """The value of an entry, written, with its mark."""
        value = self.read(entry, related)
        if value is None or value == "":
            return Cell(figures.NONE, self.is_text, is_marked=bool(self.rests_on))
        address = reverse("catalogue-entry", args=[self.refers_to, value]) if self.refers_to else ""
        text = str(value) if self.is_text else self.written(value)
        return Cell(text, self.is_text, self._origin(entry), self.formula, address)

    def written(self, value: float) -> str:
        """In people's unit, trailing zeros kept: figures of a column stand under one another."""
        return f"{float(value) / float(self.unit.scale):,.{self.decimals}f}"

    def _origin(self, entry: Entry) -> Origin | None:
        for places in (self.rests_on, self.or_else_on):
            there = [origin_of(entry.document, path) for path in places if _at(entry.document, path) is not None]
            if there:
                return weakest(there)
        return None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as a template shows it."""

    text: str
    is_text: bool
    origin: Origin | None = None
    formula: str = ""
    address: str = ""
    is_marked: bool = False
    """Whether other cells of the column have a mark, whose room this one leaves."""

    @property
    def source(self) -> str:
        """What the mark says: the formula, and the source of what it rests on."""
        source = self.origin.source if self.origin else ""
        return f"{self.formula}; {source}" if self.formula else source


def _at(document: Any, path: str) -> Any:
    for part in path.split("."):
        document = document.get(part) if isinstance(document, Mapping) else None
    return document


def _field(path: str) -> Callable[[Entry, Related], Any]:
    return lambda entry, related: _at(entry.document, path)


def _fact(name: str) -> Callable[[Entry, Related], Any]:
    return lambda entry, related: entry.facts.get(name)


def text(path: str, label: str, refers_to: str = "") -> Column:
    """A field that is words."""
    return Column(path, label, _field(path), is_text=True, order=f"document.{path}", refers_to=refers_to)


def number(path: str, label: str, unit: Unit = PLAIN, decimals: int = 0) -> Column:
    """A figure of the document."""
    return Column(path, label, _field(path), unit, decimals, order=f"document.{path}", rests_on=(path,))


def fact(name: str, label: str, unit: Unit, decimals: int, rests_on: tuple[str, ...], formula: str) -> Column:
    """A figure that is computed from the document."""
    return Column(
        name, label, _fact(name), unit, decimals, order=f"facts.{name}", rests_on=rests_on, formula=formula
    )  # fmt: skip


def _kv_rate(entry: Entry, related: Related) -> float | None:
    model = related.get(entry.document["model"])
    size = model.facts.get("s_kv_bytes") if model else None
    return None if size is None else 8 * size / entry.facts["t_prefill_s"]


def _kv_dtype(entry: Entry, related: Related) -> str:
    return str(entry.document.get("kv_dtype", "bf16"))


def _measured_range(entry: Entry, related: Related) -> str:
    tokens = entry.document["prefill"]["tokens"]
    return f"{figures.length(tokens[0])} – {figures.length(tokens[-1])}"


def _bandwidth(entry: Entry, related: Related) -> Any:
    value = entry.document["bandwidth_bps"]
    return None if value == "unlimited" else value


def _process(entry: Entry, related: Related) -> str:
    return str((entry.document.get("arrivals") or {}).get("process", "poisson"))


def _distribution(entry: Entry, related: Related) -> str:
    return str((entry.document.get("input_tokens") or {}).get("distribution", "")).replace("_", " ")


def _reuse(entry: Entry, related: Related) -> str:
    prefix = entry.document.get("prefix") or {}
    ratio = prefix.get("token_hit_ratio")
    reuse = str(prefix.get("reuse", "none")).replace("_", " ")
    return reuse if ratio is None else f"{reuse}, {figures.percent(ratio)} %"


SIZES = ("layers",)
AT = f"{AT_TOKENS / 1024:.0f}K"
COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "hardware": (
        text("vendor", "Vendor"),
        number("dense_flops.bf16", "BF16 dense", TFLOPS),
        number("dense_flops.fp8", "FP8 dense", TFLOPS),
        number("memory_bytes", "Memory", GB, 1),
        number("memory_bytes_per_s", "Bandwidth", TB_PER_S, 2),
        number("tdp_w", "TDP", WATTS),
        number("nic_bps", "NIC", GBPS),
        number("gpus_per_node", "A node", Unit("GPUs")),
    ),
    "models": (
        number("total_parameters", "Parameters", BILLIONS, 1),
        number("active_parameters", "Active", BILLIONS, 1),
        fact("block_level_bytes_per_token", "KV a token", KIB, 1, SIZES, "block-level bytes a token, from the layers"),
        fact("request_level_bytes", "Request level", MIB, 1, SIZES, f"state and windows of a request of {AT} tokens"),
        Column(
            "s_kv_bytes", f"S_kv at {AT}", _fact("s_kv_bytes"), MIB, 1, order="facts.s_kv_bytes",
            rests_on=("measured",), or_else_on=SIZES, formula=f"measured, or computed from the layers, at {AT} tokens",
        ),
        number("max_position_tokens", "Longest prompt", TOKENS),
        Column("kv_dtype", "KV dtype", _kv_dtype, is_text=True, order="document.kv_dtype"),
    ),
    "profiles": (
        text("model", "Model", "models"),
        Column("gpus_per_instance", "GPUs", _field("gpus_per_instance"), order="document.gpus_per_instance"),
        text("hardware", "Hardware", "hardware"),
        text("engine", "Engine"),
        fact("t_prefill_s", f"T_prefill at {AT}", Unit("s"), 3, ("prefill",), f"the curve at {AT} tokens"),
        fact("prefill_tokens_per_s", "Prefill", Unit("tokens/s"), 0, ("prefill",), f"{AT} tokens / T_prefill"),
        Column(
            "kv_rate_bps", f"Φ_kv at {AT}", _kv_rate, GBPS, 2,
            rests_on=("prefill",), formula="S_kv of the model / T_prefill (eq. 1)",
        ),
        Column("measured_range", "Measured", _measured_range, is_text=True),
    ),
    "traffic": (
        Column(
            "distribution", "Input lengths", _distribution, is_text=True, order="document.input_tokens.distribution"
        ),
        fact("mean_input_tokens", "Mean input", TOKENS, 0, ("input_tokens",), "mean of the distribution"),
        fact("p50_input_tokens", "P50 input", TOKENS, 0, ("input_tokens",), "median of the distribution"),
        fact("mean_output_tokens", "Mean output", TOKENS, 0, ("output_tokens",), "mean over requests"),
        Column("arrivals", "Arrivals", _process, is_text=True, order="document.arrivals.process"),
        Column("prefix", "Prefix reuse", _reuse, is_text=True, order="document.prefix.reuse"),
        number("rate_rps", "Rate", Unit("req/s"), 2),
    ),
    "links": (
        Column(
            "bandwidth_bps", "Nominal", _bandwidth, GBPS, 1,
            order="document.bandwidth_bps", rests_on=("bandwidth_bps",),
        ),
        number("achieved_bps", "Achieved", GBPS, 2),
        number("rtt_s", "RTT", MS, 1),
        number("price.usd_per_gb", "By volume", Unit("USD/GB"), 4),
        number("price.usd_per_month", "By time", Unit("USD/month"), 0),
    ),
    "prices": (
        text("hardware", "Hardware", "hardware"),
        text("provider", "Provider"),
        text("region", "Region"),
        text("kind", "Kind"),
        fact("usd_per_gpu_hour", "Price", Unit("USD/GPU-hour"), 3, ("usd_per_gpu_hour",), ""),
        text("date", "Day"),
    ),
    "measurements": (
        text("model", "Model"),
        Column("gpus_per_instance", "GPUs", _field("gpus_per_instance"), order="document.gpus_per_instance"),
        text("hardware", "Hardware", "hardware"),
        text("engine", "Engine"),
        fact("runs", "Runs", PLAIN, 0, ("rows",), "lines"),
        fact("shortest_tokens", "Shortest", TOKENS, 0, ("rows",), "the shortest prompt of a run"),
        fact("longest_tokens", "Longest", TOKENS, 0, ("rows",), "the longest prompt of a run"),
        text("date", "Day"),
    ),
}  # fmt: skip

RELATED: Mapping[str, str] = {"profiles": "model"}
"""The field whose entries a list needs beside its own."""


def related(kind: str, entries: Iterable[Entry]) -> Related:
    """What the entries of one page name, as far as their columns need it: one query."""
    field = RELATED.get(kind)
    if field is None:
        return {}
    names = {entry.document[field] for entry in entries}
    return {each.name: each for each in Entry.objects.filter(kind=f"{field}s", name__in=names).defer("document")}


def cells(kind: str, entry: Entry, others: Related) -> list[Cell]:
    """One row."""
    return list(map(partial(Column.cell, entry=entry, related=others), COLUMNS[kind]))
