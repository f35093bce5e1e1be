"""A result document as lines for a terminal, in the units that people use."""

from __future__ import annotations

from typing import Any

STAGES = {"prfaas": "PrfaaS compute", "link": "link", "pd_p": "PD-P", "pd_d": "PD-D"}
DASH = "–"


def lines(result: dict[str, Any]) -> str:
    """Λ_max and what binds first, then where requests go, then the stages."""
    ttft = result["ttft_unloaded_s"]
    rows = [
        f"{result['scenario']} ({result['form']} form)",
        f"  Λ_max              {result['lambda_max_rps']:.3f} req/s, bound by "
        + " and ".join(STAGES[stage] for stage in result["binding"]),
        routed(result),
        f"  instances          {instances(result)}",
        f"  offloaded          {result['offload_fraction']:.2%} of requests, mean "
        f"{figure(result['mean_offloaded_tokens'], '{:,.0f} tokens')}; "
        f"local mean {figure(result['mean_local_tokens'], '{:,.0f} tokens')}",
        f"  egress             {result['egress_bps'] / 1e9:.2f} Gbps, "
        f"{figure(result['link_utilisation'], '{:.1%} of the link')}",
        f"  TTFT, unloaded     mean {ttft['mean']:.2f} s, P50 {ttft['p50']:.2f} s, "
        f"P90 {ttft['p90']:.2f} s, P99 {ttft['p99']:.2f} s",
        *stages(result),
        f"  provenance         {result['provenance']} (the weakest kind used)",
        *(f"  note               {note}" for note in result["notes"]),
    ]
    return "\n".join(rows)


def routed(result: dict[str, Any]) -> str:
    """The threshold, or the share of all requests that goes to PrfaaS."""
    if result["remote_share"] is not None:
        return f"  remote share       {result['remote_share']:.2%} of requests, whatever their lengths"
    return f"  threshold t        {figure(result['threshold_tokens'], '{:,.0f} tokens')}"


def instances(result: dict[str, Any]) -> str:
    """N_prfaas / N_p / N_d."""
    count = result["instances"]
    return f"{count['prfaas']:g} / {count['prefill']:g} / {count['decode']:g} (PrfaaS / prefill / decode)"


def stages(result: dict[str, Any]) -> list[str]:
    """Θ and slack of each stage."""
    rows = []
    for stage, title in STAGES.items():
        state = result["stages"][stage]
        if state is None:
            rows.append(f"  {title:<18} {DASH}")
            continue
        theta = result["theta_rps"].get(stage)
        own = f"Θ {theta:.3f} req/s, " if theta is not None else ""
        limit = figure(state["lambda_rps"], "saturates at {:.3f} req/s")
        rows.append(f"  {title:<18} {own}{limit}, slack {state['slack']:.1%}")
    return rows


def figure(value: float | None, form: str) -> str:
    """The value in its form, or a dash."""
    return DASH if value is None else form.format(value)
