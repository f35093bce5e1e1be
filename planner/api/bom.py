"""Bills of materials over REST: of a scenario by its name, as JSON or CSV, with an ETag."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from planner import scenario, store
from planner.api.documents import scenario_of
from planner.api.evaluate import ErrorsSerializer
from planner.documents.errors import refuse
from planner.documents.fields import PROVENANCE_KINDS
from planner.procurement import bill_prices, bill_table
from planner.procurement.bill import bill
from planner.procurement.bill_query import BillQuery, table_of

KIND = f"One of {', '.join(PROVENANCE_KINDS)}."


class BillOriginSerializer(serializers.Serializer[Any]):
    """What a figure rests on."""

    kind = serializers.CharField(help_text=KIND)
    source = serializers.CharField()  # type: ignore[assignment] # a field of that name, never bound to data


class BillPriceSerializer(BillOriginSerializer):
    """USD a GPU-hour, and who says so."""

    usd_per_gpu_hour = serializers.FloatField()
    said_by = serializers.CharField(help_text="given, scenario or catalogue.")
    date = serializers.DateField(allow_null=True, help_text="Of the offer.")
    has_power = serializers.BooleanField(help_text="The chip is bought, and its power is in the price.")


class BillOfferSerializer(serializers.Serializer[Any]):
    """An offer of the catalogue."""

    offer = serializers.CharField()
    usd_per_gpu_hour = serializers.FloatField()


class BillListedSerializer(serializers.Serializer[Any]):
    """The offers on demand of the newest day."""

    date = serializers.DateField(allow_null=True)
    offers = serializers.IntegerField()
    cheapest = BillOfferSerializer()
    dearest = BillOfferSerializer()


class BillPaidSerializer(serializers.Serializer[Any]):
    """USD; null where something is not known."""

    usd_per_h = serializers.FloatField(allow_null=True)
    usd_per_month = serializers.FloatField(allow_null=True)


class BillChipsSerializer(BillPaidSerializer):
    """Instances of one role of one cluster."""

    cluster = serializers.CharField()
    role = serializers.CharField(help_text="prfaas, prefill or decode.")
    hardware = serializers.CharField()
    title = serializers.CharField()
    instances = serializers.IntegerField()
    gpus_per_instance = serializers.IntegerField()
    gpus = serializers.IntegerField()
    count_kind = serializers.CharField(help_text=KIND)
    price = BillPriceSerializer(allow_null=True)
    listed = BillListedSerializer(allow_null=True)
    tdp_w = serializers.FloatField(allow_null=True, help_text="Of one chip.")
    tdp = BillOriginSerializer(allow_null=True)
    power_w = serializers.FloatField(allow_null=True, help_text="Of all of them.")


class BillLinkSerializer(BillPaidSerializer):
    """A link, paid by the month and by the byte."""

    name = serializers.CharField()
    to = serializers.CharField()
    bandwidth_bps = serializers.FloatField(allow_null=True, help_text="Null: unlimited.")
    is_priced = serializers.BooleanField(help_text="Where not, it counts as free.")
    price = BillOriginSerializer()
    fee_usd_per_month = serializers.FloatField(allow_null=True)
    usd_per_gb = serializers.FloatField(allow_null=True)
    egress_bps = serializers.FloatField()
    egress_kind = serializers.CharField(help_text=KIND)
    gb_per_month = serializers.FloatField()
    time_usd_per_h = serializers.FloatField()
    volume_usd_per_h = serializers.FloatField()

    def get_fields(self) -> dict[str, Any]:
        """With `from`, which no attribute of Python can be called."""
        return {**super().get_fields(), "from": serializers.CharField()}


class BillPowerSerializer(BillPaidSerializer):
    """What the chips draw at TDP; costed where `usd_per_kwh` is given."""

    power_w = serializers.FloatField(allow_null=True)
    paid_w = serializers.FloatField(allow_null=True, help_text="Without chips whose price has their power.")
    usd_per_kwh = serializers.FloatField(allow_null=True)
    pue = serializers.FloatField(allow_null=True)


class BillTotalsSerializer(BillPaidSerializer):
    """All lines together."""

    gpus = serializers.IntegerField()
    power_w = serializers.FloatField(allow_null=True)
    usd_per_million_tokens = serializers.FloatField(allow_null=True, help_text="Input and output, at `rate_rps`.")


class BillMissingSerializer(serializers.Serializer[Any]):
    """A figure that nobody states, for which totals are null."""

    hardware = serializers.CharField()
    what = serializers.CharField(help_text="usd_per_gpu_hour or tdp_w.")
    message = serializers.CharField()


class BillSerializer(serializers.Serializer[Any]):
    """A bill of materials, SI units and USD."""

    scenario = serializers.CharField()
    title = serializers.CharField()
    form = serializers.CharField()
    rate_rps = serializers.FloatField(help_text="At which traffic is counted.")
    rate_said_by = serializers.CharField(help_text="given, traffic or lambda_max.")
    lambda_max_rps = serializers.FloatField()
    chips = BillChipsSerializer(many=True)
    links = BillLinkSerializer(many=True)
    power = BillPowerSerializer()
    totals = BillTotalsSerializer()
    evidence = serializers.DictField(child=serializers.CharField(), help_text="The weakest kind under each total.")
    missing = BillMissingSerializer(many=True)
    notes = serializers.ListField(child=serializers.CharField())
    formulas = serializers.DictField(child=serializers.CharField())
    version = serializers.CharField()


FORM = OpenApiParameter("form", enum=["exact", "paper"], description="Default: exact.")
PRICE = OpenApiParameter(
    "price",
    many=True,
    description="HARDWARE=USD a GPU-hour, or HARDWARE=OFFER, the name of a stored price; goes before all others.",
)
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", str, OpenApiParameter.HEADER, description="The ETag that was read: 304 where nothing has changed."
)
PARAMETERS = [
    FORM,
    PRICE,
    OpenApiParameter("usd_per_kwh", float, description="Electricity; without it power is in the GPU's price."),
    OpenApiParameter("pue", float, description="From 1 to 5, beside usd_per_kwh; default 1."),
    OpenApiParameter("format", enum=["json", "csv"], description="Or Accept: text/csv."),
    IF_NONE_MATCH,
]
ANSWERS = {
    (200, "application/json"): BillSerializer,
    (200, "text/csv"): OpenApiTypes.STR,
    304: OpenApiResponse(description="As read before."),
    (400, "application/json"): ErrorsSerializer,
    (404, "application/json"): ErrorsSerializer,
}


class BillAsCsv(BaseRenderer):
    """A bill as a table."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """The lines, UTF-8."""
        text = io.StringIO(newline="")
        csv.writer(text).writerows(bill_table.lines(data))
        return text.getvalue().encode()


class BillAnswer(APIView):
    """Answers with a bill, as JSON or CSV; refusals are JSON, whatever was asked for."""

    renderer_classes = (JSONRenderer, BillAsCsv)

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[BaseRenderer, str]:
        """By `format`, or else by the Accept header. Raises DocumentError on a format that is not there."""
        asked = request.query_params.get("format", "json")
        if asked not in ("json", "csv") and not force:
            raise refuse("format", asked, "must be json or csv")
        return super().perform_content_negotiation(request, force)

    def handle_exception(self, exc: Exception) -> Response:
        """The refusal, in the shape that all have."""
        self.request.accepted_renderer = JSONRenderer()
        self.request.accepted_media_type = JSONRenderer.media_type
        return super().handle_exception(exc)


class BillView(BillAnswer):
    """What a scenario is made of and what that costs: chips, link and power, totals an hour and a month."""

    @extend_schema(
        summary="Bill of materials of a scenario",
        operation_id="scenarios_bom",
        parameters=PARAMETERS,
        responses=ANSWERS,
    )
    def get(self, request: Request, name: str) -> HttpResponseBase:
        if name not in scenario.SHIPPED and store.named(store.SCENARIOS, name) is None:
            raise NotFound(f"No scenario is called {name}; GET /api/v1/scenarios/ lists them.")
        found = scenario_of(name, {})
        asked = table_of(BillQuery, dict(request.query_params.lists()))
        chips = {cluster.hardware.name for cluster in found.parsed.clusters}
        prices = bill_prices.given(asked.price, chips, store.STORED)
        made = bill(found, store.STORED, prices=prices, power=asked.power(), form=asked.form)
        return tagged(request, made, file=name)


def tagged(request: Request, data: Any, file: str = "") -> HttpResponseBase:
    """The answer with an ETag of what it says, or 304 where the reader has it already; CSV as a file of that name."""
    chosen = request.accepted_renderer.format
    text = json.dumps([chosen, data], sort_keys=True, default=str)
    etag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
    named = {"Content-Disposition": f'attachment; filename="{file}-bom.csv"'} if chosen == "csv" else {}
    answer = Response(data, headers={"ETag": etag, **named})
    return get_conditional_response(request._request, etag=etag, response=answer) or answer
