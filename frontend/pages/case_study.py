"""The published case study: three deployments compared, and what-if on each."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import get_script_prefix, reverse
from django.views.decorators.http import require_POST, require_safe

from frontend import comparison, figures, under_load, whatif, words
from planner import bandwidth, catalog, scenario, store
from planner.documents.errors import DocumentError
from planner.models import Job
from planner.simulating.under_load import submit

RECENT = 5
COMPARED = "case-study"
"""Of the comparison that every installation begins with."""


@require_safe
def case_study(request: HttpRequest) -> HttpResponse:
    form = "paper" if request.GET.get("form") == "paper" else "exact"
    loaded = under_load.section()
    context = {
        "form": form,
        "tables": [comparison.comparison(known) for known in words.FORMS],
        "forms": words.FORMS,
        "kinds": words.PROVENANCE,
        "stages": words.STAGES,
        "source": catalog.published()["source"],
        "inputs": inputs(),
        "under_load": loaded,
        "under_load_socket": f"{get_script_prefix()}ws/jobs/{loaded.running.pk}/" if loaded.running else "",
        "bandwidth": bandwidth_table(),
        "whatif": {
            "baseline": baselines(),
            "baseline_title": "homogeneous",
            "scenarios": [
                whatif.choices(scenario.load(name), catalog.published()["scenarios"][name]) for name in scenario.SHIPPED
            ],
        },
        "compared": COMPARED if store.named(store.COMPARISONS, COMPARED) else "",
        "recent": Job.objects.filter(parent=None).defer("input", "result")[:RECENT],
    }
    return render(request, "case_study.html", context)


@require_POST
def simulate_under_load(request: HttpRequest) -> HttpResponse:
    """Has the case study simulated under load; the page shows how far it is, or why it cannot be."""
    if not request.user.is_authenticated:
        return redirect_to_login(reverse("case-study"))
    with suppress(DocumentError):
        submit(request.user.pk)
    return redirect(f"{reverse('case-study')}#under-load")


def baselines() -> dict[str, float]:
    """Λ_max of the homogeneous deployment by form, which ratios refer to."""
    name = catalog.published()["baseline"]
    return {form: comparison.results(form)[name]["lambda_max_rps"] for form in words.FORMS}


INPUTS = (
    ("Threshold t = {routing[threshold_tokens]:,} tokens", "routing.threshold_tokens"),
    ("Instances of PrfaaS: {clusters[0][instances]}", "clusters.prfaas.instances"),
    (
        "Split of PD: {clusters[1][prefill_instances]} prefill, {clusters[1][decode_instances]} decode",
        "clusters.pd.prefill_instances",
    ),
    ("S_kv(l), state that a request of length l leaves", "model.s_kv.bytes"),
    ("T_prefill(l) on 8 × H200 (PrfaaS)", "model.profiles.internal-1t-hybrid-h200x8.seconds"),
    ("T_prefill(l) on 8 × H20 (PD-P)", "model.profiles.internal-1t-hybrid-h20x8.seconds"),
    (
        "Input lengths: log-normal, μ {traffic[input_tokens][mu]}, σ {traffic[input_tokens][sigma]}, "
        "on [{traffic[input_tokens][min]:,}, {traffic[input_tokens][max]:,}] tokens",
        "traffic.input_tokens.mu",
    ),
    ("Output length: {traffic[output_tokens]:,} tokens", "traffic.output_tokens"),
    ("Decode: BS_max {decode[max_batch]} requests, T_decode {decode[step_s]} s a step", "decode.step_s"),
    ("Link: {link_gbps:,g} Gbps", "links.wan.bandwidth_bps"),
)


def inputs() -> list[dict[str, str]]:
    """Each figure that the case study rests on, with kind and source."""
    rested_on = scenario.load(scenario.SHIPPED[0])
    document = rested_on.document()
    document["link_gbps"] = document["links"][0]["bandwidth_bps"] / 1e9
    return [{"label": label.format(**document), **rested_on.provenance(path)} for label, path in INPUTS]


def bandwidth_table() -> dict[str, Any]:
    """Egress of large clusters by published model, as text."""
    rows = [
        {
            "title": demand.title,
            "attention": demand.attention,
            "cells": [
                {
                    "egress": figures.gbps_of_three_digits(egress),
                    "formula": f"Φ_kv {rate / 1e9:.2f} Gbps an instance (eq. 2)",
                }
                for egress, rate in zip(demand.egress_bps, demand.kv_rate_bps, strict=True)
            ],
        }
        for demand in bandwidth.demands()
    ]
    fleets = [f"{gpus:,} GPUs at {tokens // 1024}K" for gpus, tokens in bandwidth.FLEETS]
    return {"rows": rows, "fleets": fleets, "source": catalog.published()["kv_throughput"]["source"]}
