"""Quotes over REST: deployments for a budget, ranked, each with its bill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponseBase
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.views import APIView

from planner import store
from planner.api.bom import ANSWERS, FORM, IF_NONE_MATCH, PRICE, BillAnswer, BillTotalsSerializer, tagged
from planner.api.catalogue import Pages
from planner.api.documents import scenario_of
from planner.api.evaluate import ErrorsSerializer, TtftSerializer
from planner.engine.throughput import Stage
from planner.procurement import quotes, quotes_asked
from planner.procurement.bill_query import OF_THE_ANSWER
from planner.procurement.quotes import Ranking
from planner.procurement.quotes_asked import Posed

OF_THE_LIST = (*OF_THE_ANSWER, "order")
"""Parameters that a quote does not depend on."""


class QuoteInstancesSerializer(serializers.Serializer[Any]):
    """Instances of a profile."""

    profile = serializers.CharField()
    hardware = serializers.CharField()
    gpus_per_instance = serializers.IntegerField()
    instances = serializers.FloatField()
    usd_per_h = serializers.FloatField(help_text="Of one instance.")


class QuotePdSerializer(QuoteInstancesSerializer):
    """The same of the PD cluster, with its split."""

    prefill_instances = serializers.FloatField()
    decode_instances = serializers.FloatField()


class QuoteTtftSerializer(serializers.Serializer[Any]):
    """TTFT under load by approximation, and the mean wait at each stage; null where a queue never ends."""

    mean = serializers.FloatField(allow_null=True)
    p50 = serializers.FloatField(allow_null=True)
    p90 = serializers.FloatField(allow_null=True)
    p99 = serializers.FloatField(allow_null=True)
    waits_s = serializers.DictField(child=serializers.FloatField(allow_null=True))


class QuoteCostSerializer(serializers.Serializer[Any]):
    """USD an hour by part, at `rate_rps`."""

    usd_per_h = serializers.FloatField()
    parts_usd_per_h = serializers.DictField(child=serializers.FloatField())
    shares = serializers.DictField(child=serializers.FloatField())
    usd_per_million_input_tokens = serializers.FloatField(allow_null=True)
    usd_per_million_output_tokens = serializers.FloatField(allow_null=True)


class QuoteLinksSerializer(serializers.Serializer[Any]):
    """Addresses."""

    bom = serializers.CharField(help_text="The bill of this quote, with all its lines.")
    scenario = serializers.CharField(help_text="The scenario that gave the traffic.")


class QuoteSerializer(serializers.Serializer[Any]):
    """A deployment for the budget, SI units and USD."""

    id = serializers.CharField(help_text="The same for the same purchase from the same inputs.")
    rank = serializers.IntegerField()
    rate_rps = serializers.FloatField(help_text="At which it is quoted: within the SLO, where there is one.")
    judged_rps = serializers.FloatField(help_text="Which it was to carry.")
    is_slowed = serializers.BooleanField(help_text="It carries less than that, or keeps the SLO only at less.")
    prfaas = QuoteInstancesSerializer(allow_null=True)
    pd = QuotePdSerializer()
    link = serializers.CharField(allow_null=True)
    threshold_tokens = serializers.FloatField(allow_null=True)
    lambda_max_rps = serializers.FloatField()
    binding = serializers.ListField(child=serializers.ChoiceField([stage.value for stage in Stage]))
    offload_fraction = serializers.FloatField()
    egress_bps = serializers.FloatField(help_text="At Λ_max.")
    ttft_unloaded_s = TtftSerializer()
    ttft_loaded_s = QuoteTtftSerializer(allow_null=True, help_text="At rate_rps; null in paper form.")
    cost = QuoteCostSerializer()
    totals = BillTotalsSerializer()
    evidence = serializers.DictField(child=serializers.CharField(), help_text="The weakest kind under each total.")
    scenario_document = serializers.DictField(help_text="To be stored, evaluated or simulated as it is.")
    links = QuoteLinksSerializer()


class QuoteRefusedSerializer(serializers.Serializer[Any]):
    """A combination without a quote."""

    prfaas = serializers.CharField(allow_null=True)
    pd = serializers.CharField()
    link = serializers.CharField(allow_null=True)
    reason = serializers.CharField()
    lambda_max_rps = serializers.FloatField(allow_null=True)
    judged_rps = serializers.FloatField(allow_null=True)
    ttft_s = serializers.FloatField(allow_null=True, help_text="The percentile at that rate; null: without end.")
    least_ttft_s = serializers.FloatField(allow_null=True, help_text="The same without any queue.")


class QuoteLeftOutSerializer(serializers.Serializer[Any]):
    """A profile that could not be an option."""

    profile = serializers.CharField()
    side = serializers.CharField(help_text="pd, or both.")
    reason = serializers.CharField()


class QuotesSerializer(serializers.Serializer[Any]):
    """A page of quotes, the best first."""

    count = serializers.IntegerField()
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = QuoteSerializer(many=True)
    asked = serializers.DictField(help_text="The parameters, with what was taken where none was given.")
    quoted = serializers.IntegerField()
    refused = QuoteRefusedSerializer(many=True)
    left_out = QuoteLeftOutSerializer(many=True)
    notes = serializers.ListField(child=serializers.CharField())
    version = serializers.CharField()


ASKED = [
    OpenApiParameter("budget", float, required=True, description="USD an hour that a deployment may cost."),
    OpenApiParameter("scenario", str, description="Gives traffic, decode and link; default case-study-prfaas-pd."),
    OpenApiParameter("model", str, description="A stored model in the place of the scenario's."),
    OpenApiParameter("slo", float, description="TTFT under load in seconds that must not be exceeded."),
    OpenApiParameter("percentile", enum=[50, 90, 99], description="Of that TTFT; default 90."),
    OpenApiParameter("rate_rps", float, description="Rate in req/s at which a deployment is judged."),
    OpenApiParameter(
        "load", float, description="Or the share of its own Λ_max, from 1e-6 to 1; default 0.85 with slo, 1 without."
    ),
    OpenApiParameter("hardware", many=True, description="Chips to choose among; default all."),
    OpenApiParameter("link", many=True, description="Links of the catalogue, beside the scenario's own."),
    FORM,
    PRICE,
]
LISTED = [
    OpenApiParameter("order", enum=["rate", "cost_per_million_tokens"], description="Default: rate."),
    OpenApiParameter("page", int),
    OpenApiParameter("page_size", int, description="From 1 to 200."),
    IF_NONE_MATCH,
]


class QuotesView(APIView):
    """Deployments for a budget from the stored catalogue, ranked by the rate that they carry or by what that costs."""

    @extend_schema(
        summary="Deployments for a budget",
        operation_id="quotes_list",
        parameters=[*ASKED, *LISTED],
        responses={
            200: QuotesSerializer,
            304: OpenApiResponse(description="As read before."),
            400: ErrorsSerializer,
            404: ErrorsSerializer,
        },
    )
    def get(self, request: Request) -> HttpResponseBase:
        posed, found = ranked(request)
        pages = Pages()
        page: Sequence[Any] = pages.paginate_queryset(list(quotes.documents(posed, found)), request, self) or []
        listed = pages.get_paginated_response([each | {"links": _links(request, each["id"])} for each in page])
        return tagged(request, {**listed.data, **quotes.head(posed, found)})


class QuoteBillView(BillAnswer):
    """The bill of one quote, asked for as the quotes were."""

    @extend_schema(
        summary="Bill of materials of a quote",
        operation_id="quotes_bom",
        parameters=[*ASKED, OpenApiParameter("format", enum=["json", "csv"]), IF_NONE_MATCH],
        responses=ANSWERS,
    )
    def get(self, request: Request, quote_id: str) -> HttpResponseBase:
        _, found = ranked(request)
        for quote in found.quotes:
            if quote.id == quote_id:
                return tagged(request, quote.bill, file=quote.scenario.name)
        raise NotFound(f"No quote is {quote_id} any more: prices or profiles have changed; ask for quotes again.")


def ranked(request: Request) -> tuple[Posed, Ranking]:
    """The quotes that the parameters of an address ask for. Raises DocumentError."""
    wanted = quotes_asked.wanted(dict(request.query_params.lists()))
    posed = quotes_asked.posed(wanted, scenario_of(wanted.scenario, {}), store.STORED)
    return posed, quotes.ranking(posed, store.STORED)


def _links(request: Request, quote_id: str) -> dict[str, str]:
    query = request.query_params.copy()
    for name in OF_THE_LIST:
        query.pop(name, None)
    wanted = request.query_params.get("scenario", quotes_asked.DEFAULT_SCENARIO)
    bom = f"{reverse('quote-bom', args=[quote_id])}?{query.urlencode()}"
    given = reverse("scenarios-detail", args=[wanted])
    return {"bom": request.build_absolute_uri(bom), "scenario": request.build_absolute_uri(given)}
