"""What is recommended, as the configuration of routers that know a threshold. Nothing is applied by itself.

Ours sends away a request of l uncached tokens where l > t; both routers do so from a whole number on, l >= n. The same
requests go either way with n the next whole number above t.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime

from monitoring.live.messages import AdviceNow

LLM_D, DYNAMO = "llm-d", "dynamo"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a snippet says of itself."""

    watch: str
    scenario: str
    current_tokens: float | None
    version: str


def from_tokens(threshold_tokens: float) -> int:
    """The fewest uncached tokens that are sent away: the next whole number above t, 1 where everything is."""
    return max(1, math.floor(threshold_tokens) + 1)


def llm_d(subject: Subject, advice: AdviceNow) -> str:
    """Plugins of an EndpointPickerConfig: `prefix-based-pd-decider`, and the profile handler that asks it.

    Raises ValueError where nothing is recommended.
    """
    tokens = from_tokens(_threshold(advice))
    return f"""{_comments(subject, advice)}
# llm-d router: put these two in the place of the plugins of the same types in your EndpointPickerConfig.
# - A request is prefilled remotely from {tokens} uncached tokens on; nonCachedTokens: 0 would switch that off.
# - Unless the request tells its number of tokens, the router takes a quarter of its characters.
# - What is not sent away is prefilled by the decode worker itself.
# - The decision needs the prefix-cache state of the decode endpoint, which approx-prefix-cache-producer provides.
plugins:
  - type: prefix-based-pd-decider
    parameters:
      nonCachedTokens: {tokens}
  - type: disagg-profile-handler
    parameters:
      deciders:
        prefill: prefix-based-pd-decider
"""


def dynamo(subject: Subject, advice: AdviceNow) -> str:
    """Flags of `python -m dynamo.frontend`, with what they cannot say. Raises ValueError where nothing is
    recommended."""
    tokens = from_tokens(_threshold(advice))
    chosen = {"policy": "isl_bounding", "eff_isl_threshold": tokens, "eff_isl_ratio_threshold": 1.0}
    return f"""{_comments(subject, advice)}
# Dynamo frontend, conditional disaggregation (experimental): add these flags to your own.
# CAVEAT: this is not the same rule. A request stays local only where its uncached tokens are below
# eff_isl_threshold AND below eff_isl_ratio_threshold of its whole prompt. The ratio may be 1.0 at most, so that a
# prompt of which nothing is cached goes to remote prefill however short it is: more crosses the link than was
# predicted, the more so the fewer prompts find a prefix in the cache.
# - Needs --router-mode kv, KV events of the decode workers, and workers of vLLM or TensorRT-LLM.
# - What stays local is prefilled by the decode worker itself.
python -m dynamo.frontend \\
    --router-mode kv \\
    --router-kv-events \\
    --router-conditional-disagg \\
    --router-conditional-disagg-config '{json.dumps(chosen, separators=(",", ":"))}'
"""


WRITTEN = {LLM_D: llm_d, DYNAMO: dynamo}
"""By the name of the router."""
TYPES = {LLM_D: "application/yaml", DYNAMO: "text/x-shellscript"}


def _threshold(advice: AdviceNow) -> float:
    if not advice.is_valid or advice.threshold_tokens is None:
        raise ValueError("nothing is recommended")
    return advice.threshold_tokens


def _comments(subject: Subject, advice: AdviceNow) -> str:
    """When it was recommended, of what, and why."""
    at = datetime.fromtimestamp(advice.at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    current = "unknown" if subject.current_tokens is None else f"{subject.current_tokens:g}"
    lines = [
        f"Recommended by PrfaaS Planner {subject.version} at {at} for {subject.watch}, scenario {subject.scenario}.",
        f"t = {_threshold(advice):g} uncached tokens, for {advice.objective}; in force: {current}.",
        *_between(advice),
        f"Reason: {advice.reason}. {advice.sentence}",
        f"Rests on {advice.samples:.0f} requests. Advice only: look at it again before you apply it later.",
    ]
    # a sentence of several lines must not leave the comment
    return "\n".join(f"# {' '.join(line.split())}" for line in lines)


def _between(advice: AdviceNow) -> list[str]:
    if advice.threshold_low is None or advice.threshold_high is None:
        return []
    return [f"The best t for the greatest Λ_max lies from {advice.threshold_low:g} to {advice.threshold_high:g}."]
