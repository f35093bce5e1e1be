"""The figures that rules look at: how they are written, of which link they are, on which signals they rest."""

from __future__ import annotations

from monitoring.live.lines import OF_LINK

SIGNALS: dict[str, tuple[str, ...]] = {
    "egress_bps": ("link_egress_bits", "link_capacity_bps"),
    "ingress_bps": ("link_ingress_bits", "link_capacity_bps"),
    "capacity_bps": ("link_capacity_bps",),
    "link_utilisation": ("link_egress_bits", "link_capacity_bps"),
    "rtt_s": ("link_rtt_s",),
    "resent": ("retransmitted_segments", "sent_segments"),
    "dropped_pps": ("link_dropped_packets",),
    "kv_bps": ("kv_transfer_bytes",),
    "requests_rps": ("requests",),
    "offload": ("requests",),
    "failed_rps": ("failed_requests",),
    "input_tps": ("input_tokens",),
    "cached_tps": ("cached_tokens",),
    "output_tps": ("output_tokens",),
    "threshold_tokens": ("threshold_tokens",),
    "queue": ("queued_requests",),
    "ttft_s": ("ttft_s",),
    "tpot_s": ("tpot_s",),
    "instances": ("instances",),
    "utilisation": ("utilisation", "busy_s", "busy_instances", "instances"),
}
"""By what stands before the first dot of a figure's name, see monitoring.live.lines. What is not here, as what is
recommended, may rest on any signal."""


def signals(figure: str) -> tuple[str, ...] | None:
    """What a figure is made of; None where that is not known."""
    return SIGNALS.get(figure.partition(".")[0])


def link(figure: str) -> str:
    """The link that a figure is of, if it is of one."""
    family, _, rest = figure.partition(".")
    return rest if family in OF_LINK else ""


def written(figure: str, value: float | None) -> str:
    """A value in the unit that people read it in."""
    if value is None:
        return "not known"
    family = figure.partition(".")[0]
    if family.endswith("_bps"):
        return f"{value / 1e9:.3g} Gbps"
    if family.startswith(("link_utilisation", "utilisation", "offload", "resent")):
        return f"{100 * value:.3g} %"
    if family.endswith("_s"):
        return f"{value:.3g} s"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Some time in words."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
