"""Annotations over REST: by who is signed in, or by a program with the token of a hook."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.shortcuts import get_object_or_404
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.authentication import BaseAuthentication, BasicAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied, ValidationError
from rest_framework.permissions import IsAuthenticatedOrReadOnly
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from monitoring.alerts import notes
from monitoring.alerts.hooks import registry
from monitoring.api.given import REFUSED, body, now_ms, refusing
from monitoring.api.query import WINDOW, whole, window
from monitoring.credentials import of_headers
from monitoring.models import Hook, Note

MOST, USUAL = 1000, 500


class HookUser(AnonymousUser):
    """A program, known by its hook's token. It may annotate, and nothing else asks who it is."""

    def __init__(self, hook: Hook) -> None:
        self.hook = hook

    @property
    def is_authenticated(self) -> bool:  # type: ignore[override]
        """It is known."""
        return True

    def get_username(self) -> str:
        """As annotations name it."""
        return self.hook.name


class HookAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN` of a hook for the API."""

    def authenticate(self, request: Request) -> tuple[HookUser, None] | None:
        given = request.headers.get("Authorization", "")
        if not given.lower().startswith("bearer "):
            return None
        hook = registry.find(of_headers(given) or "")
        if hook is None:
            raise AuthenticationFailed("the token is not known, was revoked, or its hook is disabled")
        return HookUser(hook), None

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="annotations"'


class HookScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the API's document names it."""

    target_class = HookAuthentication
    name = "hookToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "The token of a hook."}


class NoteDescriptionSerializer(serializers.Serializer[Any]):
    """What may be said of an annotation: at least its text. Times in epoch milliseconds; without an end a moment."""

    kind = serializers.CharField(required=False, help_text=f"One of {', '.join(notes.BY_HAND)}; default: note.")
    text = serializers.CharField(required=False)
    ts_ms = serializers.IntegerField(required=False, help_text="Default: now.")
    end_ms = serializers.IntegerField(required=False, allow_null=True)
    tags = serializers.DictField(child=serializers.CharField(), required=False)
    watch = serializers.CharField(required=False)


class NoteSerializer(NoteDescriptionSerializer):
    """An annotation; one that is open goes on."""

    id = serializers.IntegerField()
    kind = serializers.CharField(help_text=f"One of {', '.join(Note.Kind.values)}.")
    by = serializers.CharField()
    is_open = serializers.BooleanField()


class NotesSerializer(serializers.Serializer[Any]):
    """Annotations of a window, the newest first; `more` says how many others there are."""

    annotations = NoteSerializer(many=True)
    more = serializers.IntegerField()


def as_json(note: Note) -> dict[str, Any]:
    """As the API shows it."""
    return {field: getattr(note, field) for field in ("id", "by", "is_open", *notes.FIELDS)}


class _View(APIView):
    authentication_classes = (HookAuthentication, SessionAuthentication, BasicAuthentication)
    permission_classes = (IsAuthenticatedOrReadOnly,)

    def by(self, request: Request) -> tuple[str, str]:
        """Who annotates, and the subject by which what a program annotates is known. Raises PermissionDenied."""
        user = request.user
        if isinstance(user, HookUser) and user.hook.kind != Hook.Kind.API:
            raise PermissionDenied(f"this token is of a hook of kind {user.hook.kind}; annotations need kind api")
        return user.get_username()[:150], f"{user.hook.pk}:" if isinstance(user, HookUser) else ""


class NotesView(_View):
    """What happened when."""

    @extend_schema(
        operation_id="live_annotations_list",
        summary="Annotations of a window",
        parameters=[
            *WINDOW,
            OpenApiParameter("watch", str, description="Of this watch, and those that are of all."),
            OpenApiParameter("kind", str, enum=list(Note.Kind.values)),
            OpenApiParameter("limit", int, description=f"From 1 to {MOST}; default {USUAL}."),
        ],
        responses={200: NotesSerializer, 400: REFUSED},
    )
    def get(self, request: Request) -> Response:
        given = request.query_params
        start_ms, end_ms = window(given, now_ms())
        limit = whole(given, "limit", USUAL, 1, MOST)
        if given.get("kind") and given["kind"] not in Note.Kind.values:
            allowed = ", ".join(Note.Kind.values)
            raise ValidationError({"kind": f"must be one of {allowed}, got {given['kind'][:40]!r}"})
        found = notes.reaching(start_ms, end_ms, given.get("watch", ""), given.get("kind", ""))
        rows = [as_json(each) for each in found[:limit]]
        return Response({"annotations": rows, "more": max(found.count() - limit, 0)})

    @extend_schema(
        operation_id="live_annotations_create",
        summary="A new annotation",
        request=NoteDescriptionSerializer,
        responses={201: NoteSerializer, 400: REFUSED},
    )
    def post(self, request: Request) -> Response:
        by, subject = self.by(request)
        note = Note(by=by, subject=subject, watch=request.user.hook.watch if isinstance(request.user, HookUser) else "")
        with refusing():
            notes.store(note, body(request, notes.FIELDS), now_ms())
        if isinstance(request.user, HookUser):
            registry.noted(request.user.hook, now_ms(), 1)
        address = reverse("live-annotation", args=[note.pk], request=request)
        return Response(as_json(note), status.HTTP_201_CREATED, headers={"Location": address})


class NoteView(_View):
    """One annotation."""

    @extend_schema(operation_id="live_annotations_retrieve", summary="An annotation", responses=NoteSerializer)
    def get(self, request: Request, note_id: int) -> Response:
        return Response(as_json(get_object_or_404(Note, pk=note_id)))

    @extend_schema(
        operation_id="live_annotations_update",
        summary="Change an annotation, as to give it an end",
        request=NoteDescriptionSerializer,
        responses={200: NoteSerializer, 400: REFUSED},
    )
    def patch(self, request: Request, note_id: int) -> Response:
        note = self._changeable(request, note_id)
        with refusing():
            notes.store(note, body(request, notes.FIELDS), now_ms())
        return Response(as_json(note))

    @extend_schema(operation_id="live_annotations_delete", summary="Delete an annotation", responses={204: None})
    def delete(self, request: Request, note_id: int) -> Response:
        self._changeable(request, note_id).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _changeable(self, request: Request, note_id: int) -> Note:
        """A program changes its own only. Raises Http404 and PermissionDenied."""
        name, subject = self.by(request)
        note = get_object_or_404(Note, pk=note_id)
        if subject and note.subject != subject:
            raise PermissionDenied(f"annotation {note_id} is not of {name}")
        return note
