"""Jobs over REST: start one, follow it, cancel it."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from planner import jobs
from planner.api.documents import read_request
from planner.api.evaluate import EXAMPLE
from planner.models import Job


class JobProgressSerializer(serializers.ModelSerializer[Job]):
    """Where a job stands: what the list and the websocket say."""

    class Meta:
        model = Job
        fields: ClassVar[list[str]] = [
            "id", "kind", "scenario", "form", "state", "done", "total", "message", "attempt", "cancel_requested",
            "created_at", "started_at", "finished_at", "heartbeat_at", "version", "error",
        ]  # fmt: skip
        read_only_fields = fields


class JobSerializer(JobProgressSerializer):
    """A job with its frozen input and its result."""

    input = serializers.DictField(read_only=True, help_text="All that the result depends on.")
    result = serializers.DictField(read_only=True, allow_null=True, help_text="Null until the job has succeeded.")

    class Meta(JobProgressSerializer.Meta):
        fields: ClassVar[list[str]] = [*JobProgressSerializer.Meta.fields, "input", "result"]
        read_only_fields = fields


class JobRequestSerializer(serializers.Serializer[Any]):
    """What to compute: a scenario by name or as a document, and how."""

    scenario = serializers.JSONField(help_text="Name of a shipped scenario, or a complete scenario document.")
    form = serializers.ChoiceField(["exact", "paper"], default="exact")
    set = serializers.DictField(required=False, help_text="Fields to override: dotted PATH to value.")
    kind = serializers.ChoiceField(Job.Kind.choices, default=Job.Kind.OPTIMIZE)
    map = serializers.BooleanField(default=True, help_text="Also map the optimum over bandwidth, sigma and split.")


class JobOptionsSerializer(serializers.Serializer[Any]):
    """The part of a request that is about the job and not about the scenario."""

    kind = serializers.ChoiceField(Job.Kind.choices, default=Job.Kind.OPTIMIZE)
    map = serializers.BooleanField(default=True)


def job_progress(job: Job) -> dict[str, Any]:
    return dict(JobProgressSerializer(job).data)


ACCEPTED = OpenApiResponse(JobSerializer, description="Accepted; the header Location says where to follow it.")


def accepted(job: Job, request: Request) -> Response:
    """What answers the request that started a job, which may have begun since."""
    job.refresh_from_db()
    headers = {"Location": reverse("job-detail", args=[job.pk], request=request)}
    return Response(JobSerializer(job).data, status.HTTP_201_CREATED, headers=headers)


@extend_schema_view(
    list=extend_schema(summary="All jobs, the newest first", responses=JobProgressSerializer(many=True)),
    retrieve=extend_schema(summary="One job with its input and result"),
)
class JobViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Job]):
    queryset = Job.objects.all()
    serializer_class = JobSerializer

    def get_queryset(self) -> QuerySet[Job]:
        if self.action == "list":
            return super().get_queryset().filter(parent=None).defer("input", "result")
        return super().get_queryset()

    def get_serializer_class(self) -> type[JobProgressSerializer]:
        return JobProgressSerializer if self.action == "list" else JobSerializer

    @extend_schema(
        summary="Start a job",
        request=JobRequestSerializer,
        responses={
            201: ACCEPTED,
            400: OpenApiResponse(OpenApiTypes.OBJECT, description="What is wrong, field by field; nothing is stored."),
        },
        examples=[EXAMPLE],
        parameters=[OpenApiParameter("form", str, enum=["exact", "paper"], description="Instead of form in the body.")],
    )
    def create(self, request: Request) -> Response:
        asked = read_request(request.data, request.query_params, options=("kind", "map"))
        options = _options(request.data)
        job = jobs.submit(
            options["kind"],
            asked.scenario.name,
            {"scenario": asked.scenario.document(), "form": asked.form, "map": options["map"]},
            created_by=request.user.pk,
        )
        return accepted(job, request)

    @extend_schema(summary="Cancel a job", request=None, responses=JobSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        job = self.get_object()
        jobs.cancel(job.pk)
        job.refresh_from_db()
        return Response(JobSerializer(job).data)


def _options(data: Any) -> dict[str, Any]:
    """What a request says about the job and not about the scenario; a bare document says nothing of it."""
    given = {key: data[key] for key in ("kind", "map") if key in data and "scenario" in data}
    options = JobOptionsSerializer(data=given)
    options.is_valid(raise_exception=True)
    return dict(options.validated_data)
