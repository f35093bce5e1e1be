"""How a comparison depends on its figures, over REST: tornado, heat map, uncertainty, growth. Nothing is stored."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from planner.api.comparisons import comparison_of
from planner.api.evaluate import Computed, ErrorsSerializer
from planner.api.sensitivity_fields import (
    GrowthRequestSerializer,
    GrowthSerializer,
    HeatMapRequestSerializer,
    HeatMapSerializer,
    SensitivityRequestSerializer,
    SensitivitySerializer,
    UncertaintyRequestSerializer,
    UncertaintySerializer,
)
from planner.comparing import break_even, growth, sensitivity, uncertainty
from planner.comparing.questions import GrowthAsked, HeatMapAsked, SensitivityAsked, UncertaintyAsked, read


def _example(title: str, **fields: Any) -> OpenApiExample:
    return OpenApiExample(title, value={"comparison": "case-study", **fields}, request_only=True)


class SensitivityView(Computed):
    """Every input of a scenario varied alone: Λ_max, cost a million tokens and TTFT at either end, widest first."""

    @extend_schema(
        summary="Tornado of a scenario",
        request=SensitivityRequestSerializer,
        examples=[_example("What PrfaaS-PD depends on", scenario="case-study-prfaas-pd", retuned=True)],
        responses={200: SensitivitySerializer, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        asked = comparison_of(request.data, *SensitivityAsked.model_fields)
        return Response(sensitivity.tornado(asked, read(SensitivityAsked, request.data)))


class HeatMapView(Computed):
    """The ratio of two scenarios over two inputs, its break-even lines, and where they tie by each input alone."""

    @extend_schema(
        summary="Where a ranking flips",
        request=HeatMapRequestSerializer,
        examples=[_example("Price of an H200 against S_kv", x={"input": "price.h200"}, y={"input": "s_kv"})],
        responses={200: HeatMapSerializer, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        asked = comparison_of(request.data, *HeatMapAsked.model_fields)
        return Response(break_even.heat_map(asked, read(HeatMapAsked, request.data)))


class UncertaintyView(Computed):
    """Spread of each outcome where every figure may be wrong by what its kind lets one expect, and who beats whom."""

    @extend_schema(
        summary="How sure a comparison is",
        request=UncertaintyRequestSerializer,
        examples=[_example("With prices as given", uncertain_prices=False, draws=5000)],
        responses={200: UncertaintySerializer, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        asked = comparison_of(request.data, *UncertaintyAsked.model_fields)
        return Response(uncertainty.uncertainty(asked, read(UncertaintyAsked, request.data)))


class GrowthView(Computed):
    """The same fleets under multiples of their traffic and with faster prefill chips, and when their links bind."""

    @extend_schema(
        summary="More traffic and faster chips",
        request=GrowthRequestSerializer,
        examples=[_example("Faster chips in PrfaaS alone", remote_only=True, chips=[1, 2, 4, 8])],
        responses={200: GrowthSerializer, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        asked = comparison_of(request.data, *GrowthAsked.model_fields)
        return Response(growth.grown(asked, read(GrowthAsked, request.data)))
