"""What is wrong with a simulation's document, in the words of its form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from frontend.catalogue.units import PERCENT, written
from frontend.simulator.parts.routing import ORDERS, POLICIES
from planner.documents.errors import FieldError
from planner.simulating.studies.features import FEATURES

WORDS: Mapping[str, str | Callable[[re.Match[str]], str]] = {
    r"begin_s, ": "“From”, ",
    r"decode\.iterations": "decode by iteration",
    r"order (fcfs|shortest)": lambda found: f"the order “{ORDERS[found[1]][0]}”",
    r"(?:policy )?\b(as_given|all_local|all_remote|bandwidth_aware)\b": lambda found: f"“{POLICIES[found[1]][0]}”",
    r"routing\.policy threshold in the scenario": "a scenario that routes by a threshold",
    r"caches whose routing is not length": "prefix caches, and more than the whole prompt judged against t",
    r"caches with copies, and routing best or by_bandwidth": "prefix caches with copies, t judged by the better one",
    r"an rtt_s": "a round trip",
    r"tcp\.connections": "TCP connections",
    r"links\.[\w-]+\.rtt_s": "the link's round trip in the scenario",
    r"\brate_rps\b": "a rate",
    r"a cluster of role prfaas": "a PrfaaS cluster",
    r"\bpd_p\b": "PD-P",
    r"\bpd_d\b": "PD-D",
    r"\bprfaas\b": "PrfaaS",
    rf"\b({'|'.join(FEATURES)})\b(?= needs )": lambda found: FEATURES[found[1]].title,
    r"roles\.high, ([\d.e+-]+)": lambda found: f"“Short from”, {written(float(found[1]), PERCENT)} %",
}
"""What documents call something, and what the form does."""


def in_words(text: str) -> str:
    """A sentence without names of fields."""
    for pattern, said in WORDS.items():
        text = re.sub(pattern, said, text)
    return text


def said(error: FieldError) -> str:
    """What is wrong with a field."""
    if error.field == "paths" and isinstance(error.value, float):
        return f"Shares must be 100 % together, and are {100 * error.value:.6g} %."
    return in_words(error.message)
