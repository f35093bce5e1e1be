"""Runs of a whole deployment against what its scenario comes to: throughput against Λ_max, and egress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from planner import evaluation
from planner.accuracy.against_profile import AT_DEPLOYMENT, Unlike
from planner.accuracy.lines import Line
from planner.engine import lengths
from planner.entries.measurement import Measurement
from planner.scenario import Scenario

ALIKE = 0.1
"""How far, relative, the mean lengths of a run may be from those of the scenario's traffic."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """What a scenario comes to (exact form), with what its runs have to be like."""

    model: str
    input_tokens: float
    """Of a prompt and of an answer, the means of the traffic."""
    output_tokens: float
    lambda_max_rps: float
    egress_bps: float
    decode_slots: float
    evidence: dict[str, str]
    """By quantity, the weakest kind under what is predicted."""

    @classmethod
    def of(cls, scenario: Scenario) -> Deployed:
        """Evaluates the scenario."""
        document, result = scenario.parsed, evaluation.evaluate(scenario)
        return cls(
            document.model.name,
            lengths.mean(document.traffic.input_tokens.lengths()),
            float(document.traffic.mean_output_tokens()),
            float(result["lambda_max_rps"]),
            float(result["egress_bps"]),
            result["instances"]["decode"] * document.decode.max_batch,
            {"throughput_rps": result["evidence"]["lambda_max_rps"], "egress_bps": result["evidence"]["egress_bps"]},
        )

    def throughput_rps(self, line: Line) -> float:
        """What was sent, as long as Λ_max allows it. Raises Unlike."""
        if line.rate_rps is not None:
            return min(line.rate_rps, self.lambda_max_rps)
        if line.concurrency is None:
            raise Unlike("nobody says at which rate requests were sent, or how many were in flight")
        if line.concurrency < self.decode_slots:
            told = f"need not fill the {self.decode_slots:,.0f} that the scenario decodes at once"
            raise Unlike(f"{line.concurrency:g} requests in flight {told}")
        return self.lambda_max_rps

    def egress(self, line: Line, served_rps: float | None) -> float:
        """Bit/s at the rate that was served, or else sent: Λ_max · p · E[S_kv | L > t], scaled to it. Raises Unlike."""
        if not self.egress_bps > 0:
            raise Unlike("the scenario sends nothing across a link")
        return self.egress_bps * (served_rps or self.throughput_rps(line)) / self.lambda_max_rps

    def require_alike(self, model: str, line: Line) -> None:
        """Raises Unlike where the run is of another model, or of other lengths on average."""
        if model != self.model:
            raise Unlike(f"the runs are of {model}, the scenario is of {self.model}")
        given = (("prompts", self.input_tokens, line.input_tokens), ("answers", self.output_tokens, line.output_tokens))
        for words, ours, theirs in given:
            if theirs is None:
                raise Unlike(f"nobody says how long the {words} were on average")
            if abs(theirs / ours - 1) > ALIKE:
                raise Unlike(f"{words} had {theirs:,.0f} tokens on average, in the scenario they have {ours:,.0f}")


def with_scenario(runs: Measurement, found: Iterable[Line], scenario: Scenario) -> Iterator[Line]:
    """The lines, those of throughput and egress with what the scenario predicts.

    Choosing a scenario says that the runs were of its deployment.
    """
    deployed = Deployed.of(scenario)
    for line in found:
        yield _held(runs, line, deployed) if line.quantity in AT_DEPLOYMENT else line


def _held(runs: Measurement, line: Line, deployed: Deployed) -> Line:
    try:
        deployed.require_alike(runs.model, line)
        if line.quantity == "throughput_rps":
            value = deployed.throughput_rps(line)
        else:
            value = deployed.egress(line, runs.rows[line.run - 1].throughput_rps)
    except Unlike as problem:
        return replace(line, reason=str(problem))
    return replace(line, lower=value, upper=value, evidence=deployed.evidence[line.quantity], reason="")
