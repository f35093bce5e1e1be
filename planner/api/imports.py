"""Imports over REST: bring a file, see what it would store, store it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from planner import store, uploads
from planner.api.evaluate import ErrorsSerializer
from planner.api.jobs import JobProgressSerializer
from planner.documents.errors import refuse
from planner.models import Upload


class UploadSerializer(serializers.Serializer[Any]):
    """A file and what it is."""

    kind = serializers.ChoiceField(Upload.Kind.choices)
    file = serializers.FileField()


PREVIEW = OpenApiResponse(OpenApiTypes.OBJECT, description="entries, mapping, assumptions, notes, facts, errors")
CHOICES = [
    OpenApiParameter(
        "{field}", str, description="An answer to an assumption, by its field; `name` and `title` of the entry."
    )
]


class ImportsView(APIView):
    """Files to import; each is kept for a day."""

    permission_classes = (IsAuthenticated,)
    parser_classes = (MultiPartParser,)

    @extend_schema(
        summary="Bring a file to import",
        request={"multipart/form-data": UploadSerializer},
        responses={201: PREVIEW, 400: ErrorsSerializer},
    )
    def post(self, request: Request) -> Response:
        kind, file = request.POST.get("kind"), request.FILES.get("file")
        if kind not in Upload.Kind.values:
            raise refuse("kind", kind, f"must be one of {', '.join(Upload.Kind.values)}")
        if file is None:
            raise refuse("file", None, "is missing: send it as multipart/form-data")
        upload = uploads.take(str(kind), file.name or "file", file.chunks(), by=request.user.pk)
        address = reverse("import", args=[upload.pk], request=request)
        return Response(_shown(upload, {}), status.HTTP_201_CREATED, headers={"Location": address})


class ImportView(APIView):
    """One file: what it would store, and storing it."""

    permission_classes = (IsAuthenticated,)

    @extend_schema(summary="What an import would store", parameters=CHOICES, responses=PREVIEW)
    def get(self, request: Request, upload_id: UUID) -> Response:
        return Response(_shown(get_object_or_404(Upload, pk=upload_id), request.query_params.dict()))

    @extend_schema(
        operation_id="imports_store",
        summary="Store an import",
        request={"application/json": OpenApiTypes.OBJECT},
        responses={
            200: OpenApiResponse(OpenApiTypes.OBJECT, description="entries: kind, name and status of each"),
            202: OpenApiResponse(JobProgressSerializer, description="A trace is read as a job."),
            400: ErrorsSerializer,
            409: OpenApiResponse(ErrorsSerializer, description="Being stored already."),
        },
    )
    def post(self, request: Request, upload_id: UUID) -> Response:
        upload = get_object_or_404(Upload, pk=upload_id)
        given = _choices(request.data)
        if upload.kind == Upload.Kind.TRACE:
            job = uploads.submit_trace(upload, given, by=request.user.pk)
            address = reverse("job-detail", args=[job.pk], request=request)
            return Response(JobProgressSerializer(job).data, status.HTTP_202_ACCEPTED, headers={"Location": address})
        return Response({"entries": [_put(put) for put in uploads.keep(upload, given, by=request.user.pk)]})

    @extend_schema(summary="Forget a file", responses={204: None})
    def delete(self, request: Request, upload_id: UUID) -> Response:
        uploads.forget(get_object_or_404(Upload, pk=upload_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _choices(data: Any) -> dict[str, str]:
    if not isinstance(data, dict):
        raise refuse(None, None, "the body must be a JSON object of FIELD to answer")
    wrong = [field for field, value in data.items() if not isinstance(value, str)]
    if wrong:
        raise refuse(wrong[0], data[wrong[0]], "must be text")
    return dict(data)


def _shown(upload: Upload, given: dict[str, str]) -> dict[str, Any]:
    seen = uploads.preview(upload, given)
    return {
        "id": str(upload.pk),
        "kind": upload.kind,
        "name": upload.name,
        "entries": [_put(put) for put in seen.found],
        "mapping": [asdict(each) for each in seen.mapping],
        "assumptions": [asdict(each) for each in seen.assumptions],
        "notes": list(seen.notes),
        "facts": seen.facts,
        "errors": [error.as_json() for error in seen.errors],
    }


def _put(put: store.Put) -> dict[str, Any]:
    return {"kind": put.entry.kind, "name": put.entry.name, "status": put.status, "document": put.entry.document}
