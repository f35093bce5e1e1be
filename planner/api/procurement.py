"""Questions of cost over REST: each is a job, whose result answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from planner import jobs, store
from planner.api.documents import scenario_of
from planner.api.evaluate import ErrorsSerializer
from planner.api.jobs import ACCEPTED, accepted
from planner.documents.errors import refuse
from planner.fleet import document as fleets
from planner.procurement import document, questions


class QuestionSerializer(serializers.Serializer[Any]):
    """What to answer. Options that are left out are those that the scenario has.

    Problem `clusters` has other fields: `pd` ([{name, scenario, share, routes: [{prfaas, link}], free_split}]),
    `prfaas` ([{name, hardware, gpus_per_instance, instances}]) and `links` ([{name, bandwidth_bps, achieved_bps}]).
    """

    problem = serializers.ChoiceField(["equal_cost", "least_cost", "break_even", "front", "clusters"])
    form = serializers.ChoiceField(["exact", "paper"], default="exact")
    scenario = serializers.JSONField(
        required=False, help_text="What is deployed now: name of a scenario, or its document."
    )
    prices = serializers.ListField(
        child=serializers.DictField(),
        required=False,
        help_text="For each hardware `name`: `usd_per_gpu_hour`, or `offer`, the name of a stored price.",
    )
    prfaas = serializers.ListField(child=serializers.DictField(), required=False, help_text="[{profile, most}]")
    pd = serializers.ListField(
        child=serializers.DictField(), required=False, help_text="[{profile, most, decode: {max_batch, step_s}}]"
    )
    links = serializers.ListField(
        child=serializers.DictField(),
        required=False,
        help_text="[{name, bandwidth_bps, achieved_bps, price: {usd_per_gb, usd_per_month}}]",
    )
    reserve = serializers.DictField(
        required=False, help_text="target_utilisation in (0, 1], spare_instances of each role, link_headroom in [0, 1)"
    )
    budget_usd_per_h = serializers.FloatField(required=False, help_text="equal_cost; else what the baseline costs.")
    baseline = serializers.JSONField(required=False, help_text="Scenario whose cost is the budget; else `scenario`.")
    rate_rps = serializers.FloatField(
        required=False, help_text="least_cost: the peak rate to carry; front: the greatest."
    )
    promise = serializers.DictField(
        required=False, help_text="least_cost: {ttft_s, percentile}, TTFT under load; percentile 50, 90 or 99."
    )
    percentile = serializers.ChoiceField([50, 90, 99], default=90, help_text="front: of TTFT.")
    rates = serializers.IntegerField(default=8, help_text="front: how many rates, up to rate_rps.")
    seconds = serializers.FloatField(
        required=False, help_text="Time for a search under a promise, or for each rate of a front; the gap is told."
    )
    vary = serializers.DictField(
        required=False,
        help_text="break_even: parameter (price_ratio, link_usd_per_gb, bandwidth_bps, length_factor or kv_factor), "
        "lowest, highest, points",
    )


EXAMPLE = OpenApiExample(
    "The most for what the case study costs",
    value={
        "problem": "equal_cost",
        "scenario": "case-study-prfaas-pd",
        "prices": [{"name": "h200", "usd_per_gpu_hour": 2.0}, {"name": "h20", "usd_per_gpu_hour": 1.0}],
    },
    request_only=True,
)


class ProcurementView(APIView):
    """Starts a job that answers a question of cost."""

    @extend_schema(
        summary="Ask what to buy",
        request=QuestionSerializer,
        examples=[EXAMPLE],
        responses={
            201: ACCEPTED,
            400: ErrorsSerializer,
        },
    )
    def post(self, request: Request) -> Response:
        return accepted(submit(request.data, request.user.pk), request)


def submit(data: Any, by: int | None) -> Any:
    """The job that answers a question. Raises DocumentError where it is no question, or cannot be answered."""
    if not isinstance(data, Mapping):
        raise refuse(None, None, "the body must be a JSON object: a question")
    given = dict(data)
    if given.get("problem") == "clusters":
        return _submit_fleet(given, by)
    for place in ("scenario", "baseline"):
        if isinstance(given.get(place), str):
            given[place] = scenario_of(given[place], {}, place).document()
    asked = document.parse(given, store.STORED)
    questions.require_answerable(asked)
    return jobs.submit(asked.question.problem, asked.scenario.name, asked.frozen(), by)


def _submit_fleet(given: dict[str, Any], by: int | None) -> Any:
    """The job that searches a fleet of several clusters."""
    clusters = given.get("pd")
    if isinstance(clusters, list):
        given["pd"] = [_with_scenario(pd, at) for at, pd in enumerate(clusters)]
    fleet = fleets.parse(given, store.STORED)
    return jobs.submit("clusters", fleet.parsed.name, fleet.frozen(), by)


def _with_scenario(pd: Any, at: int) -> Any:
    """A PD cluster whose scenario is a document, where it was named."""
    if not isinstance(pd, dict) or not isinstance(pd.get("scenario"), str):
        return pd
    return {**pd, "scenario": scenario_of(pd["scenario"], {}, f"pd.{pd.get('name', at)}.scenario").document()}
