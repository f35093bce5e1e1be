"""Table 6 of the paper, ours beside the published values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from frontend import evidence, figures, words
from planner import catalog, evaluation, scenario

type Document = dict[str, Any]

COMPUTED, GIVEN = "computed", "given"


@dataclass(frozen=True, slots=True)
class Quantity:
    """One row: where it stands in a result and in what the paper prints, how to write it, where it comes from."""

    label: str
    unit: str
    path: str
    write: Callable[[float | None], str]
    formula: str
    stage: str = ""
    emphasis: bool = False

    def read(self, document: Document) -> float | None:
        """The value at the row's dotted path."""
        return evidence.at(document, self.path)


@dataclass(frozen=True, slots=True)
class Cell:
    """One deployment's value in a row, with the kind of evidence that ours rests on."""

    ours: str
    published: str
    difference: str
    kind: str
    source: str


@dataclass(frozen=True, slots=True)
class Row:
    quantity: Quantity
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All deployments in one form."""

    form: str
    titles: tuple[str, ...]
    rows: tuple[Row, ...]
    bindings: tuple[str, ...]


QUANTITIES = (
    Quantity("TTFT, mean, unloaded", "s", "ttft_unloaded_s.mean", figures.seconds,
             f"p · E[T_prfaas | L > t] + (1 − p) · E[T_pd-p | L ≤ t]: {words.UNLOADED}"),
    Quantity("TTFT, P90, unloaded", "s", "ttft_unloaded_s.p90", figures.seconds,
             f"90th percentile of T_prefill over all requests: {words.UNLOADED}"),
    Quantity("Θ_prfaas", "req/s", "theta_rps.prfaas", figures.rate,
             "min(N_prfaas / T_prefill, B_link / S_kv) of offloaded requests (eq. 3)", "prfaas"),
    Quantity("Θ_pd-p", "req/s", "theta_rps.pd_p", figures.rate,
             "N_p / T_prefill of local requests (eq. 4)", "pd_p"),
    Quantity("Θ_pd-d", "req/s", "theta_rps.pd_d", figures.rate,
             "N_d · BS_max / (T_decode · L_out) (eq. 5)", "pd_d"),
    Quantity("Λ_max", "req/s", "lambda_max_rps", figures.rate,
             "min(Θ_prfaas / p, Θ_pd-p / (1 − p), Θ_pd-d) (eq. 6)", emphasis=True),
    Quantity("Ratio to homogeneous", "×", "ratio", figures.ratio,
             "Λ_max / Λ_max of the homogeneous deployment", emphasis=True),
    Quantity("Offloaded requests, p", "%", "offload_fraction", figures.percent, "P(L > t)"),
    Quantity("Egress", "Gbps", "egress_bps", figures.gbps,
             "Λ_max · p · S_kv of offloaded requests", "link"),
)  # fmt: skip


@cache
def results(form: str) -> dict[str, Document]:
    """Each shipped scenario's result, with its ratio to the baseline; they change only with the program."""
    found = {name: evaluation.evaluate(scenario.load(name), form) for name in scenario.SHIPPED}
    baseline = found[catalog.published()["baseline"]]["lambda_max_rps"]
    return {name: {**result, "ratio": result["lambda_max_rps"] / baseline} for name, result in found.items()}


@cache
def comparison(form: str) -> Comparison:
    """The table that the case study page shows."""
    ours, published = results(form), catalog.published()["scenarios"]
    names = scenario.SHIPPED
    computed = [
        Row(quantity, tuple(_computed(quantity, ours[name], published[name]) for name in names))
        for quantity in QUANTITIES
    ]
    return Comparison(
        form=form,
        titles=tuple(published[name]["title"] for name in names),
        rows=(*_given_rows(published), *computed),
        bindings=tuple(words.bound_by(ours[name]["binding"]) for name in names),
    )


def _computed(quantity: Quantity, ours: Document, published: Document) -> Cell:
    value, printed = quantity.read(ours), quantity.read(published)
    used = value is not None and not (quantity.stage == "link" and ours["stages"]["link"] is None)
    kind = evidence.kind(ours, quantity.path) if used else ""
    return Cell(
        ours=quantity.write(value) if used else figures.NONE,
        published=figures.NONE if printed is None else as_printed(quantity, printed),
        difference=figures.difference(value, printed) if used else figures.NONE,
        kind=kind,
        source=f"computed, {ours['form']} form; weakest input {kind}",
    )


def as_printed(quantity: Quantity, value: float) -> str:
    """The paper prints two decimals of rates and ratios, and a whole number of Gbps."""
    return {"Gbps": f"{value / 1e9:.0f}", "%": figures.percent(value)}.get(quantity.unit, f"{value:.2f}")


def _given_rows(published: Document) -> tuple[Row, Row]:
    """What the paper sets and we take over: nothing to differ in."""
    remote, by_role = "Longer requests are prefilled remotely", "Instances of 8 GPUs by role"
    threshold = Quantity("Threshold t", "tokens", "threshold_tokens", figures.tokens, remote)
    split = Quantity("N_prfaas / N_p / N_d", "instances", "instances", figures.tokens, by_role)
    by_name = [published[name] for name in scenario.SHIPPED]
    return (
        Row(threshold, tuple(_given(figures.tokens(entry["threshold_tokens"])) for entry in by_name)),
        Row(split, tuple(_given(_split(entry["instances"])) for entry in by_name)),
    )


def _split(instances: dict[str, int | None]) -> str:
    return " / ".join(figures.tokens(instances[role]) for role in ("prfaas", "prefill", "decode"))


def _given(text: str) -> Cell:
    known = text != figures.NONE
    return Cell(text, text, GIVEN if known else figures.NONE, "published" if known else "", "given: taken from table 6")
