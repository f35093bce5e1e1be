"""What we ask ourselves, over REST: targets with a page of metrics, and servers that answer PromQL."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any, ClassVar

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from monitoring import registry, targets
from monitoring.mapping.dry_run import Report
from monitoring.models import Fetched, Pull, Target

MOST_ROWS = 1000
"""Of an answer to a test: series of the page, and lines that were rejected."""
STATE = ("up", "last_fetched_ms", "last_duration_ms", "last_series", "last_error")


class QuerySerializer(serializers.Serializer[Any]):
    """A query, and what its answer is: a signal times scale, or by the mappings under a name."""

    query = serializers.CharField()
    signal = serializers.CharField(required=False)
    scale = serializers.FloatField(required=False)
    name = serializers.CharField(required=False)
    kind = serializers.ChoiceField(["counter", "gauge"], required=False)


class TargetDescriptionSerializer(serializers.Serializer[Any]):
    """What may be said of a target; of a new one at least its name and url."""

    name = serializers.CharField(required=False)
    labels = serializers.DictField(child=serializers.CharField(), required=False)
    systems = serializers.ListField(child=serializers.CharField(), required=False)
    enabled = serializers.BooleanField(required=False)
    url = serializers.CharField(required=False)
    interval_s = serializers.FloatField(required=False)
    timeout_s = serializers.FloatField(required=False)
    bearer_token_file = serializers.CharField(required=False)


class PullDescriptionSerializer(TargetDescriptionSerializer):
    """What may be said of a server of queries; of a new one at least its name, url and queries."""

    queries = QuerySerializer(many=True, required=False)


class TargetSerializer(TargetDescriptionSerializer):
    """A target, and how it answered last; times in epoch milliseconds."""

    state = serializers.CharField()
    up = serializers.BooleanField(allow_null=True)
    last_fetched_ms = serializers.IntegerField(allow_null=True)
    last_duration_ms = serializers.IntegerField(allow_null=True)
    last_series = serializers.IntegerField(allow_null=True)
    last_error = serializers.CharField()
    age_ms = serializers.IntegerField(allow_null=True)
    """Since it was asked last."""


class PullSerializer(TargetSerializer):
    """A server of queries, and how it answered last."""

    queries = QuerySerializer(many=True)


REFUSED = OpenApiResponse(OpenApiTypes.OBJECT, description="errors: field, value and message of each mistake")
TRIED = OpenApiResponse(OpenApiTypes.OBJECT, description="error; and report: what would become of the answer, or null")


def as_json(fetched: Fetched) -> dict[str, Any]:
    """As the API shows it."""
    now_ms, asked_ms = round(time.time() * 1000), fetched.last_fetched_ms
    return {
        **targets.described(fetched),
        "state": registry.state(fetched.source, now_ms),
        **{field: getattr(fetched, field) for field in STATE},
        "age_ms": None if asked_ms is None else max(now_ms - asked_ms, 0),
    }


class ListView(APIView):
    """All of a kind."""

    kind: ClassVar[type[Fetched]]
    address: ClassVar[str]

    def get(self, request: Request) -> Response:
        found = self.kind._default_manager.select_related("source")
        return Response([as_json(each) for each in found])

    def post(self, request: Request) -> Response:
        fetched = self.kind()
        _store(fetched, request)
        address = reverse(self.address, args=[fetched.source.name], request=request)
        return Response(as_json(fetched), status.HTTP_201_CREATED, headers={"Location": address})


class DetailView(APIView):
    """One of a kind."""

    kind: ClassVar[type[Fetched]]

    def get(self, request: Request, name: str) -> Response:
        return Response(as_json(named(self.kind, name)))

    def patch(self, request: Request, name: str) -> Response:
        fetched = named(self.kind, name)
        _store(fetched, request)
        return Response(as_json(fetched))

    def delete(self, request: Request, name: str) -> Response:
        targets.remove(named(self.kind, name))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TestView(APIView):
    """Asks now, and stores nothing."""

    __test__ = False
    permission_classes = (IsAuthenticated,)
    kind: ClassVar[type[Fetched]]

    def post(self, request: Request, name: str) -> Response:
        report, error = targets.attempt(named(self.kind, name))
        return Response({"error": error, "report": None if report is None else shown(report)})


def named(kind: type[Fetched], name: str) -> Fetched:
    """The one of this name. Raises Http404."""
    return get_object_or_404(kind._default_manager.select_related("source"), source__name=name)


def shown(report: Report) -> dict[str, Any]:
    """The report with no more rows than a reader can use; its counts are of all."""
    rows, rejected = report.rows[:MOST_ROWS], report.rejected[:MOST_ROWS]
    return {
        "counts": report.counts,
        "systems": [asdict(each) for each in report.systems],
        "warnings": report.warnings,
        "mapped": [asdict(each) for each in report.mapped[:MOST_ROWS]],
        "rows": [asdict(each) for each in rows],
        "rejected": [{"index": each.index, "reason": each.reason} for each in rejected],
    }


def _store(fetched: Fetched, request: Request) -> None:
    """Raises ValidationError."""
    if not isinstance(request.data, dict):
        raise ValidationError(
            {"detail": f"the body must be a JSON object of {', '.join(targets.FIELDS[type(fetched)])}"}
        )
    try:
        targets.store(fetched, request.data)
    except targets.Wrong as problem:
        raise ValidationError(problem.errors) from problem


@extend_schema_view(
    get=extend_schema(operation_id="live_targets_list", summary="All targets", responses=TargetSerializer(many=True)),
    post=extend_schema(
        operation_id="live_targets_create",
        summary="A new target, with its source",
        request=TargetDescriptionSerializer,
        responses={201: TargetSerializer, 400: REFUSED},
    ),
)
class TargetsView(ListView):
    """Pages of metrics that are scraped."""

    kind, address = Target, "live-target"


@extend_schema_view(
    get=extend_schema(operation_id="live_targets_retrieve", summary="A target", responses=TargetSerializer),
    patch=extend_schema(
        operation_id="live_targets_update",
        summary="Change a target",
        request=TargetDescriptionSerializer,
        responses={200: TargetSerializer, 400: REFUSED},
    ),
    delete=extend_schema(
        operation_id="live_targets_delete",
        summary="Delete a target, its source and all that was read from it",
        responses={204: None},
    ),
)
class TargetView(DetailView):
    """One page of metrics that is scraped."""

    kind = Target


@extend_schema_view(
    post=extend_schema(
        operation_id="live_targets_test", summary="Scrape now, store nothing", request=None, responses=TRIED
    )
)
class TargetTestView(TestView):
    """What a scrape would give."""

    kind = Target


@extend_schema_view(
    get=extend_schema(
        operation_id="live_pulls_list", summary="All servers of queries", responses=PullSerializer(many=True)
    ),
    post=extend_schema(
        operation_id="live_pulls_create",
        summary="A new server of queries, with its source",
        request=PullDescriptionSerializer,
        responses={201: PullSerializer, 400: REFUSED},
    ),
)
class PullsView(ListView):
    """Servers that are asked in PromQL."""

    kind, address = Pull, "live-pull"


@extend_schema_view(
    get=extend_schema(operation_id="live_pulls_retrieve", summary="A server of queries", responses=PullSerializer),
    patch=extend_schema(
        operation_id="live_pulls_update",
        summary="Change a server of queries",
        request=PullDescriptionSerializer,
        responses={200: PullSerializer, 400: REFUSED},
    ),
    delete=extend_schema(
        operation_id="live_pulls_delete",
        summary="Delete a server of queries, its source and all that was read from it",
        responses={204: None},
    ),
)
class PullView(DetailView):
    """One server that is asked in PromQL."""

    kind = Pull


@extend_schema_view(
    post=extend_schema(operation_id="live_pulls_test", summary="Ask now, store nothing", request=None, responses=TRIED)
)
class PullTestView(TestView):
    """What its queries would give."""

    kind = Pull
