"""The bandwidth wall over REST."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from planner import bandwidth
from planner.api.evaluate import Computed, ErrorsSerializer


class OriginSerializer(serializers.Serializer[Any]):
    """Where figures come from: the weakest of those that a number rests on."""

    kind = serializers.CharField()
    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment] # a field of that name


class WallAskedSerializer(serializers.Serializer[Any]):
    """What was asked, or else is shown."""

    lengths = serializers.ListField(child=serializers.FloatField())
    gpus = serializers.ListField(child=serializers.IntegerField())
    headroom = serializers.FloatField()


class LinkClassSerializer(serializers.Serializer[Any]):
    """A class of links, and what of it may be used."""

    name = serializers.CharField()
    bandwidth_bps = serializers.FloatField()
    usable_bps = serializers.FloatField()


class WallLinkSerializer(serializers.Serializer[Any]):
    """A stored link; null: unlimited."""

    name = serializers.CharField()
    title = serializers.CharField()
    bandwidth_bps = serializers.FloatField(allow_null=True)
    usable_bps = serializers.FloatField(
        allow_null=True, help_text="Achieved, or nominal less what others use at their busiest; less the headroom."
    )
    provenance = OriginSerializer()


class LinkUseSerializer(serializers.Serializer[Any]):
    """How full a stored link would be."""

    name = serializers.CharField()
    used = serializers.FloatField(allow_null=True, help_text="Of what is usable; above 1 it does not carry it.")


class DemandSerializer(serializers.Serializer[Any]):
    """What busy instances push out, and what carries it."""

    instances = serializers.FloatField()
    egress_bps = serializers.FloatField(help_text="(N/P) · Φ_kv, eq. 2")
    link_class = serializers.CharField(help_text="The smallest that carries it within the headroom, or the largest.")
    link_count = serializers.IntegerField(help_text="More than 1 where one of the largest class does not carry it.")
    links = LinkUseSerializer(many=True)


class FleetSerializer(DemandSerializer):
    """The same of a fleet."""

    gpus = serializers.IntegerField()


class WallCellSerializer(serializers.Serializer[Any]):
    """One model at one length."""

    length_tokens = serializers.FloatField()
    s_kv_bytes = serializers.FloatField()
    t_prefill_s = serializers.FloatField()
    is_extrapolated = serializers.BooleanField()
    instance = DemandSerializer(help_text="One instance: its egress is Φ_kv, eq. 1.")
    fleets = FleetSerializer(many=True)
    published_bps = serializers.FloatField(allow_null=True, help_text="Φ_kv as the paper's table 3 prints it.")
    difference = serializers.FloatField(
        allow_null=True,
        help_text="Ours over the published, less one; null where the profile is derived from the published figure.",
    )


class WallRowSerializer(serializers.Serializer[Any]):
    """One model by one profile."""

    model = serializers.CharField()
    title = serializers.CharField()
    profile = serializers.CharField()
    hardware = serializers.CharField()
    gpus_per_instance = serializers.IntegerField()
    cells = WallCellSerializer(many=True)
    provenance = OriginSerializer()


class WallSerializer(serializers.Serializer[Any]):
    """Φ_kv and egress demand, SI units."""

    asked = WallAskedSerializer()
    link_classes = LinkClassSerializer(many=True)
    links = WallLinkSerializer(many=True)
    rows = WallRowSerializer(many=True)
    published_source = serializers.CharField()
    reduction = serializers.DictField(
        allow_null=True,
        help_text="The published 36 × of Ring-2.5-1T by its two factors, from stored models; null without them.",
    )


def _several(name: str, kind: type, text: str) -> OpenApiParameter:
    return OpenApiParameter(name, kind, many=True, explode=True, description=text)


PARAMETERS = [
    _several("model", str, "Names of models, each with its first profile unless another is named."),
    _several("profile", str, "Names of profiles. Without models and profiles: those of the published table."),
    _several("length", str, "Tokens; 32K is 32768. Default: 1K, 8K, 32K, 128K."),
    _several("gpus", int, "Sizes of fleets. Default: 512 and 10000."),
    OpenApiParameter("headroom", float, description="Share of every link to be left free. Default: 0.1."),
    _several("link", str, "Names of stored links to hold the demand against."),
]


class BandwidthView(Computed):
    """Φ_kv of an instance and egress of fleets against classes of links, for any models and lengths."""

    @extend_schema(
        summary="The bandwidth wall", parameters=PARAMETERS, responses={200: WallSerializer, 400: ErrorsSerializer}
    )
    def get(self, request: Request) -> Response:
        query = {field: values for field, values in request.query_params.lists() if field != "format"}
        return Response(bandwidth.wall(bandwidth.asked(query)))
