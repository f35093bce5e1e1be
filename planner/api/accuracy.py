"""Predictions against measurements over REST: the case study, every stored run, and a profile fitted anew."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.permissions import IsAuthenticatedOrReadOnly
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from planner import store
from planner.accuracy import comparing, paper, refit, table
from planner.api.catalogue import CONFLICT, EntrySerializer
from planner.api.charts import NOT_FOUND, OfEntry
from planner.api.evaluate import Computed, ErrorsSerializer
from planner.documents.errors import refuse
from planner.documents.plain import printable
from planner.models import Entry

SUMMARY = "count, bias (mean relative error, predicted over measured less one), rms, largest"


def _tables(text: str) -> serializers.ListField:
    return serializers.ListField(child=serializers.DictField(), help_text=text)


class CaseStudySerializer(serializers.Serializer[Any]):
    """The published case study in itself."""

    source = serializers.CharField()  # type: ignore[assignment] # a field of that name
    forms = _tables(f"By form: `figures` of table 6, `summary` and `independent` ({SUMMARY}) of those not solved from.")
    table_5 = serializers.DictField(help_text="Φ_kv = S_kv / T_prefill of the internal model's profile, and printed.")
    table_3 = serializers.DictField(help_text="The same of other models, whose profiles come from these very figures.")


class AccuracySerializer(serializers.Serializer[Any]):
    """How far predictions are from what was published and measured."""

    case_study = CaseStudySerializer()
    measurements = _tables(f"Each with the profiles that fit it, `against`: `by_quantity` and `bounds` ({SUMMARY}).")
    without_profile = _tables("Runs by model and chip that no stored profile fits.")
    runs = serializers.IntegerField()
    runs_with_profile = serializers.IntegerField()


class ComparedSerializer(serializers.Serializer[Any]):
    """A measurement beside what a profile and a scenario predict."""

    measurement = serializers.CharField()
    profile = serializers.CharField(allow_null=True)
    scenario = serializers.CharField(allow_null=True)
    profiles = serializers.ListField(child=serializers.CharField(), help_text="Those that fit.")
    unlike = serializers.CharField(allow_blank=True, help_text="Why the profile is of another thing.")
    remarks = serializers.ListField(child=serializers.CharField())
    provenance = serializers.DictField(help_text="The weakest evidence of both: kind and source.")
    by_quantity = _tables(SUMMARY)
    by_length = _tables(f"By doubling of the length: {SUMMARY}")
    bounds = _tables(f"Of several requests in flight: within, above, below, and {SUMMARY} from the nearer bound.")
    not_compared = _tables("quantity, reason, count")
    lines = _tables("Every figure: measured, lower and upper prediction, error, reason where there is none.")


class RefitSerializer(serializers.Serializer[Any]):
    """A profile fitted anew, before it is stored."""

    document = serializers.DictField()
    before = serializers.DictField(allow_null=True, help_text="Errors of the profile that it is compared with.")
    after = serializers.DictField(help_text="Errors of the fitted one: a curve through the means has none there.")
    left_out = serializers.DictField(
        allow_null=True, help_text=f"{SUMMARY} of lengths that the curve is drawn without."
    )
    notes = serializers.ListField(child=serializers.CharField())


PROFILE = OpenApiParameter("profile", str, description="Name of a stored profile; default: the first that fits.")
SCENARIO = OpenApiParameter("scenario", str, description="Name of the stored scenario whose deployment was run.")
CSV = OpenApiResponse(OpenApiTypes.STR, description="A figure a line, SI units.")


class AccuracyView(Computed):
    """The case study, and every stored measurement beside the profiles that fit it."""

    @extend_schema(summary="How accurate predictions are", responses={200: AccuracySerializer})
    def get(self, request: Request) -> Response:
        return Response({"case_study": paper.case_study(), **comparing.overview()})


class AccuracyTableView(Computed):
    """Every measured figure beside its prediction, as CSV."""

    @extend_schema(operation_id="accuracy_csv", summary="Every measured figure as CSV", responses={200: CSV})
    def get(self, request: Request) -> HttpResponse:
        return _file(table.rows(comparing.all_lines()), "accuracy")


class MeasurementView(OfEntry):
    """A measurement beside a profile, and where one is chosen a scenario."""

    kind = "measurements"

    @extend_schema(
        summary="A measurement beside its predictions",
        parameters=[PROFILE, SCENARIO],
        responses={200: ComparedSerializer, 400: ErrorsSerializer, **NOT_FOUND},
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(comparing.compared(self.entry(name), *_chosen(request)))


class MeasurementTableView(OfEntry):
    """The same as CSV."""

    kind = "measurements"

    @extend_schema(
        operation_id="measurement_accuracy_csv",
        summary="A measurement beside its predictions, as CSV",
        parameters=[PROFILE, SCENARIO],
        responses={200: CSV, 400: ErrorsSerializer, **NOT_FOUND},
    )
    def get(self, request: Request, name: str) -> HttpResponse:
        entry = self.entry(name)
        profile, _, lines = comparing.held_against(entry, *_chosen(request))
        return _file(table.rows((entry, profile.name if profile else "", line) for line in lines), name)


class StoreRefitSerializer(serializers.Serializer[Any]):
    """Where a fitted profile goes: a new `name`, or as the next revision of `profile`, which is at `revision`."""

    name = serializers.CharField(required=False)
    profile = serializers.CharField(required=False)
    revision = serializers.IntegerField(required=False, min_value=1)


class RefitView(APIView):
    """A profile fitted anew from a measurement's runs; scenarios keep the figures that they were made with."""

    permission_classes = (IsAuthenticatedOrReadOnly,)

    @extend_schema(
        operation_id="measurement_refit",
        summary="The profile that a measurement gives",
        parameters=[PROFILE],
        responses={200: RefitSerializer, 400: ErrorsSerializer, **NOT_FOUND},
    )
    def get(self, request: Request, name: str) -> Response:
        entry = MeasurementView().entry(name)
        profile, _, _ = comparing.held_against(entry, *_chosen(request))
        return Response(asdict(refit.preview(entry, profile)))

    @extend_schema(
        operation_id="measurement_refit_store",
        summary="Store the profile that a measurement gives",
        request=StoreRefitSerializer,
        responses={201: EntrySerializer, 400: ErrorsSerializer, **CONFLICT, **NOT_FOUND},
    )
    def post(self, request: Request, name: str) -> Response:
        stored = _stored(MeasurementView().entry(name), request.data, request.user.pk)
        address = reverse("profiles-detail", args=[stored.name], request=request)
        return Response(EntrySerializer(stored).data, status.HTTP_201_CREATED, headers={"Location": address})


def _stored(entry: Entry, data: Any, by: int | None) -> Entry:
    """The profile that was stored. Raises DocumentError and Conflict."""
    asked = StoreRefitSerializer(data=data)
    for field in data if isinstance(data, dict) else ():
        if field not in asked.fields:
            raise refuse(field, data[field], f"is not a field here; allowed: {', '.join(asked.fields)}")
    asked.is_valid(raise_exception=True)
    given = asked.validated_data
    if ("name" in given) == ("profile" in given):
        raise refuse("name", given.get("name"), "or profile is needed, and not both: where the fitted profile goes")
    if "name" in given:
        return refit.store_new(entry, given["name"], by=by)
    profile = store.named("profiles", given["profile"])
    if profile is None:
        raise refuse("profile", given["profile"], "is not among the stored profiles")
    if "revision" not in given:
        raise refuse("revision", None, "is missing: name the revision of the profile that you have seen")
    return refit.store_revision(entry, profile, revision=given["revision"], by=by)


def _chosen(request: Request) -> tuple[str | None, str | None]:
    """Names of profile and scenario. Raises DocumentError on anything else."""
    for field, value in request.query_params.items():
        if field not in ("profile", "scenario", "format"):
            raise refuse(field, value, "is not a field here; allowed: profile, scenario")
        if not printable(str(value)):
            raise refuse(field, value, "must be text without control characters and broken Unicode")
    return request.query_params.get("profile"), request.query_params.get("scenario")


def _file(rows: Iterable[Iterable[Any]], name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    response = HttpResponse(content_type="text/csv; charset=utf-8", headers=headers)
    csv.writer(response).writerows(rows)
    return response
