"""The figures that rules look at: how they are written, of which link they are, on which signals they rest."""

from __future__ import annotations

SIGNALS: dict[str, tuple[str, ...]] = {
    "link_utilisation": ("link_egress_bits", "link_capacity_bps"),
    "link_egress": ("link_egress_bits",),
    "link_ingress": ("link_ingress_bits",),
    "link_capacity": ("link_capacity_bps",),
    "link_rtt": ("link_rtt_s",),
    "link_resent": ("retransmitted_segments", "sent_segments"),
    "link_dropped": ("link_dropped_packets",),
    "link_kv": ("kv_transfer_bytes",),
    "requests": ("requests",),
    "offload": ("requests",),
    "failed": ("failed_requests",),
    "input": ("input_tokens", "prompt_tokens"),
    "cached": ("cached_tokens",),
    "output": ("output_tokens",),
    "threshold": ("threshold_tokens",),
    "instances": ("instances",),
    "busy": ("busy_instances", "busy_s"),
    "utilisation": ("utilisation", "busy_s", "busy_instances"),
    "queue": ("queued_requests",),
    "ttft": ("ttft_s",),
    "tpot": ("tpot_s",),
}
"""By how the name of a figure begins; the longest one counts. What is not here may rest on any signal."""


def signals(figure: str) -> tuple[str, ...] | None:
    """What a figure is made of; None where that is not known."""
    begins = [each for each in SIGNALS if figure.startswith(each)]
    return SIGNALS[max(begins, key=len)] if begins else None


def link(figure: str) -> str:
    """The link that a figure is of, if it is of one."""
    family, _, rest = figure.partition(".")
    return rest if family.startswith("link_") else ""


def written(figure: str, value: float | None) -> str:
    """A value in the unit that people read it in."""
    if value is None:
        return "not known"
    family = figure.partition(".")[0]
    if family.endswith("_bps"):
        return f"{value / 1e9:.3g} Gbps"
    if family.startswith(("link_utilisation", "utilisation", "offload", "link_resent")):
        return f"{100 * value:.3g} %"
    if family.endswith("_s"):
        return f"{value:.3g} s"
    return f"{value:.4g}"


def duration(seconds: float) -> str:
    """Some time in words."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
