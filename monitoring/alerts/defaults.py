"""The rules that a new installation begins with; they are rows like any other, to be changed or deleted."""

from __future__ import annotations

from typing import Any

RULES: tuple[dict[str, Any], ...] = (
    {
        "name": "link-congested",
        "title": "A link is nearly full",
        "kind": "threshold",
        "spec": {"figure": "link_utilisation.*", "direction": "above", "fire": 0.9, "clear": 0.8},
        "for_s": 30.0,
        "no_data": "alert",
        "no_data_for_s": 120.0,
        "severity": "critical",
        "runbook": "Raise the routing threshold t as recommended: fewer prompts are prefilled remotely, less KVCache "
        "crosses the link. Look at retransmissions: a link that loses carries less than it is rated at.",
    },
    {
        "name": "link-congestion-predicted",
        "title": "A link will be full within a quarter of an hour",
        "kind": "forecast",
        "spec": {
            "figure": "link_utilisation.*", "over_s": 600.0, "within_s": 900.0, "direction": "above",
            "fire": 0.95, "clear": 0.85,
        },
        "for_s": 60.0,
        "no_data": "ok",
        "no_data_for_s": 120.0,
        "severity": "warning",
        "runbook": "Follow the recommended threshold before the link is full: a backlog drains only as fast as the "
        "link has room.",
    },
    {
        "name": "queue-surge",
        "title": "A queue grows fast",
        "kind": "rate",
        "spec": {
            "figure": "queue.*", "over_s": 300.0, "measure": "difference", "direction": "above",
            "fire": 50.0, "clear": 10.0,
        },
        "for_s": 30.0,
        "no_data": "ok",
        "no_data_for_s": 120.0,
        "severity": "warning",
        "runbook": "If it is bound by the link, raise t; if by compute, add instances or lower the load.",
    },
    {
        "name": "recommendation-differs",
        "title": "What is recommended is not what is in force",
        "kind": "advice",
        "spec": {"fire": 1.2, "clear": 1.1, "instances": True},
        "for_s": 600.0,
        "no_data": "ok",
        "no_data_for_s": 120.0,
        "severity": "info",
        "runbook": "Nothing is applied by itself: the router's configuration to paste is beside the recommendation.",
    },
    {
        "name": "ttft-slo",
        "title": "TTFT burns its error budget",
        "kind": "burn",
        "spec": {"slo_s": 10.0, "target": 0.95, "fast": 14.4, "slow": 6.0, "clear": 0.9},
        "for_s": 60.0,
        "no_data": "ok",
        "no_data_for_s": 300.0,
        "severity": "critical",
        "runbook": "Look where requests wait: before prefill, on the link, or before decode.",
    },
    {
        "name": "source-lost",
        "title": "A source of telemetry is silent",
        "kind": "source",
        "spec": {"source": "*"},
        "for_s": 30.0,
        "no_data": "ok",
        "no_data_for_s": 120.0,
        "severity": "warning",
        "runbook": "What it told is shown with its age, then not at all; alerts of no data of it are held back. Look "
        "at the agent, its token, and the way to this server.",
    },
)  # fmt: skip
