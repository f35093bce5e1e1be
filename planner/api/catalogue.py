"""The catalogue over REST: one view set a kind of entry, all alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import F, Q, QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from pydantic import ValidationError, create_model
from rest_framework import serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import APIException
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response

from planner import seeding, store
from planner.api.evaluate import ErrorsSerializer
from planner.documents.brief import LONGEST, without_long_lists
from planner.documents.errors import from_validation, refuse
from planner.documents.fields import Table
from planner.documents.plain import printable
from planner.entries import KINDS
from planner.entries.price import Day
from planner.models import Entry, Revision


class EntrySerializer(serializers.ModelSerializer[Entry]):
    """An entry: its document, where it stands, and what lists compare."""

    document = serializers.DictField(help_text="The entry itself, SI units, each figure with its provenance.")
    facts = serializers.DictField(help_text="Computed from the document; SI units.")

    class Meta:
        model = Entry
        fields: ClassVar[list[str]] = [
            "name", "title", "revision", "archived", "origin", "created_at", "updated_at", "facts", "document",
        ]  # fmt: skip
        read_only_fields = fields


class ListedSerializer(EntrySerializer):
    """The same in a list of many: recorded figures by the thousand are had one entry at a time."""

    def to_representation(self, instance: Entry) -> dict[str, Any]:
        found = super().to_representation(instance)
        return {**found, "document": without_long_lists(found["document"])}


class RevisionSerializer(serializers.ModelSerializer[Revision]):
    """An entry as it was."""

    by = serializers.CharField(source="by.username", default=None, allow_null=True)
    document = serializers.DictField()

    class Meta:
        model = Revision
        fields: ClassVar[list[str]] = ["number", "change", "by", "at", "document"]
        read_only_fields = fields


class CloneSerializer(serializers.Serializer[Any]):
    """What a copy is called."""

    name = serializers.CharField()


class Pages(PageNumberPagination):
    """Up to 200 a page."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200

    def get_page_size(self, request: Request) -> int:
        """Entries a page. Raises DocumentError."""
        asked = request.query_params.get(self.page_size_query_param)
        return self.page_size if asked is None else _whole("page_size", asked, self.max_page_size)

    def get_page_number(self, request: Request, paginator: Any) -> int:
        """Which page; one beyond the last is not there. Raises DocumentError."""
        asked = request.query_params.get(self.page_query_param, "1")
        return paginator.num_pages if asked in self.last_page_strings else _whole("page", asked)


type Filters = Mapping[str, type[Table]]
"""What a list can be narrowed by: the field, and a table of it alone that checks the value."""
DOCUMENT = {"application/json": OpenApiTypes.OBJECT}
REFUSED = {400: ErrorsSerializer}
CONFLICT = {
    409: OpenApiResponse(ErrorsSerializer, description="Changed by somebody else since, or used by other entries.")
}
REQUIRED = {428: OpenApiResponse(ErrorsSerializer, description="If-Match is missing.")}
IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, required=True, description="The ETag that was read; * overwrites."
)
FILTERS = [
    OpenApiParameter("search", str, description="Words, each of them in name or title; up to 200 characters."),
    OpenApiParameter("archived", str, enum=["no", "yes", "all"], description="Default: no."),
    OpenApiParameter("origin", str, enum=["shipped", "user"]),
    OpenApiParameter("ordering", str, description="A field, a fact or a dotted path into the document; - turns it."),
    OpenApiParameter("page_size", int, description="From 1 to 200."),
]
OWN_FIELDS = ("name", "title", "revision", "created_at", "updated_at")
ARCHIVED = {"no": False, "yes": True, "all": None}


@extend_schema_view(
    list=extend_schema(
        summary="All entries",
        description=f"Documents come without lists of more than {LONGEST} values; the entry by its name has them.",
        parameters=FILTERS,
    ),
    retrieve=extend_schema(summary="One entry"),
)
class EntryViewSet(viewsets.ReadOnlyModelViewSet[Entry]):
    """Entries of one kind. Writers send the document; a change names the revision it rests on by `If-Match`."""

    kind: str
    serializer_class = EntrySerializer
    pagination_class = Pages
    lookup_field = "name"
    lookup_value_regex = r"[A-Za-z0-9_-]+"
    filters: ClassVar[Filters] = {}
    """Fields of the document that a list can be narrowed by."""

    def get_queryset(self) -> QuerySet[Entry]:
        return Entry.objects.filter(kind=self.kind)

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        page = self.paginate_queryset(narrowed(self.get_queryset(), request.query_params, self.filters))
        return self.get_paginated_response(ListedSerializer(page or [], many=True).data)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return _entry(self.get_object())

    @extend_schema(summary="Add an entry", request=DOCUMENT, responses={201: EntrySerializer, **REFUSED})
    def create(self, request: Request) -> Response:
        entry = store.create(self.kind, request.data, by=request.user.pk)
        address = self.reverse_action("detail", args=[entry.name])
        return _entry(entry, status.HTTP_201_CREATED, Location=address)

    @extend_schema(
        summary="Change an entry",
        request=DOCUMENT,
        parameters=[IF_MATCH],
        responses={200: EntrySerializer, **REFUSED, **CONFLICT, **REQUIRED},
    )
    def update(self, request: Request, name: str) -> Response:
        entry = self.get_object()
        return _entry(store.update(entry, request.data, revision=_required(request, entry), by=request.user.pk))

    @extend_schema(
        summary="Delete an entry that nothing uses",
        parameters=[IF_MATCH],
        responses={204: None, **CONFLICT, **REQUIRED},
    )
    def destroy(self, request: Request, name: str) -> Response:
        entry = self.get_object()
        store.delete(entry, revision=_required(request, entry))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(summary="Offer an entry no more", request=None, responses={200: EntrySerializer, **CONFLICT})
    @action(detail=True, methods=["post"])
    def archive(self, request: Request, name: str) -> Response:
        entry = self.get_object()
        return _entry(store.archive(entry, revision=_revision(request, entry), by=request.user.pk))

    @extend_schema(
        summary="Offer an entry again: one that was archived, or a shipped one that was deleted",
        request=None,
        responses={200: EntrySerializer, **REFUSED, **CONFLICT},
    )
    @action(detail=True, methods=["post"])
    def restore(self, request: Request, name: str) -> Response:
        returned = seeding.bring_back(self.kind, name)
        if returned:
            return _entry(returned)
        entry = self.get_object()
        return _entry(store.restore(entry, revision=_revision(request, entry), by=request.user.pk))

    @extend_schema(summary="Copy an entry", request=CloneSerializer, responses={201: EntrySerializer, **REFUSED})
    @action(detail=True, methods=["post"])
    def clone(self, request: Request, name: str) -> Response:
        asked = CloneSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        return _entry(store.clone(self.get_object(), asked.validated_data["name"], by=request.user.pk), 201)

    @extend_schema(summary="An entry's changes, the newest first", responses=RevisionSerializer(many=True))
    @action(detail=True, methods=["get"])
    def history(self, request: Request, name: str) -> Response:
        pages = Pages()
        page = pages.paginate_queryset(self.get_object().revisions.select_related("by"), request, self)
        return pages.get_paginated_response(RevisionSerializer(page or [], many=True).data)

    @extend_schema(summary="What uses an entry", responses=OpenApiTypes.OBJECT)
    @action(detail=True, methods=["get"])
    def uses(self, request: Request, name: str) -> Response:
        found = store.users(self.get_object())
        return Response({"uses": [{"kind": user.kind, "name": user.name, "title": user.title} for user in found]})


LONGEST_SEARCH = 200
"""Characters; each word is a condition of the query, and databases take so many."""
MOST_DIGITS = 9
"""Of a revision, and of a page's number."""


def _entry(entry: Entry, code: int = status.HTTP_200_OK, **headers: str) -> Response:
    return Response(EntrySerializer(entry).data, code, headers={"ETag": f'"{entry.revision}"', **headers})


def _revision(request: Request, entry: Entry) -> int:
    """The revision that the writer has read, by If-Match; `*` is the newest. Raises DocumentError."""
    given = request.headers.get("If-Match", "*").strip().removeprefix("W/").strip('"')
    if given == "*":
        return entry.revision
    if not given.isdecimal() or len(given) > MOST_DIGITS:
        raise refuse("If-Match", given, "must be the ETag of an entry, a number in quotes")
    return int(given)


def _required(request: Request, entry: Entry) -> int:
    """The same where it has to be said, lest somebody else's change is lost. Raises PreconditionRequired."""
    if "If-Match" not in request.headers:
        raise PreconditionRequired
    return _revision(request, entry)


class PreconditionRequired(APIException):
    """A change that does not say what it rests on."""

    status_code = status.HTTP_428_PRECONDITION_REQUIRED
    default_detail = "send If-Match with the ETag of the entry as you have read it, or * to overwrite whatever is there"


def _whole(field: str, text: str, highest: int = 10**MOST_DIGITS - 1) -> int:
    """A whole number from 1 on that a query names. Raises DocumentError."""
    if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS and 1 <= int(text) <= highest:
        return int(text)
    raise refuse(field, text, f"must be a whole number from 1 to {highest}")


def _require_known(asked: Any, filters: Filters) -> None:
    allowed = ("search", "archived", "origin", "ordering", "page", "page_size", "format", *filters)
    for field in asked:
        if field not in allowed:
            raise refuse(field, asked[field], f"is not a filter here; allowed: {', '.join(allowed)}")
        if not printable(asked[field]):
            raise refuse(field, asked[field], "must be text without control characters and broken Unicode")


def narrowed(queryset: QuerySet[Entry], asked: Any, filters: Filters) -> QuerySet[Entry]:
    """The entries that a query asks for, in its order. Raises DocumentError on what it cannot ask."""
    _require_known(asked, filters)
    archived, origin = asked.get("archived", "no"), asked.get("origin")
    if archived not in ARCHIVED:
        raise refuse("archived", archived, "must be no, yes or all")
    if (wanted := ARCHIVED[archived]) is not None:
        queryset = queryset.filter(archived=wanted)
    search = asked.get("search", "")
    if len(search) > LONGEST_SEARCH:
        raise refuse("search", search, f"takes at most {LONGEST_SEARCH} characters")
    for word in search.split():
        queryset = queryset.filter(Q(name__icontains=word) | Q(title__icontains=word))
    if origin is not None:
        if origin not in Entry.Origin.values:
            raise refuse("origin", origin, f"must be one of {', '.join(Entry.Origin.values)}")
        queryset = queryset.filter(origin=origin)
    for field, schema in filters.items():
        if field in asked:
            value = _checked(field, asked[field], schema)
            queryset = queryset.filter(_condition(field, value, schema.model_fields[field].default))
    return queryset.order_by(*_order(asked.get("ordering", "name")), "name")


AS_OF = "as_of"


def _checked(field: str, text: str, schema: type[Table]) -> str:
    """The value as an entry has it. Raises DocumentError on one that no entry can have."""
    given = {field: text}
    try:
        return str(getattr(schema.model_validate(given), field))
    except ValidationError as problem:
        raise from_validation(problem, given, {}) from problem


def _condition(field: str, value: str, default: Any) -> Q:
    """Whether a document has the value, or means it by saying nothing."""
    if field == AS_OF:
        # From "" on: PostgreSQL takes a null for less than any text.
        return Q(document__date__lte=value, document__date__gte="")
    unsaid = Q(**{f"document__{field}__isnull": True}) if value == default else Q()
    return Q(**{f"document__{field}": value}) | unsaid


def _order(asked: str) -> list[Any]:
    """Ordering terms; a value that is not there comes last, whichever way."""
    terms = []
    for field in filter(None, asked.split(",")):
        path = field.removeprefix("-")
        if not all(part.isidentifier() for part in path.split(".")) or "__" in path:
            raise refuse("ordering", field, "must be a field, a fact or a dotted path into the document")
        if path not in OWN_FIELDS and not path.startswith(("facts.", "document.")):
            raise refuse(
                "ordering", field, f"must be one of {', '.join(OWN_FIELDS)}, or begin with facts. or document."
            )
        term = F(path.replace(".", "__"))
        terms.append(term.desc(nulls_last=True) if field.startswith("-") else term.asc(nulls_last=True))
    return terms


def view_set(kind: str, *filters: str) -> type[EntryViewSet]:
    """The view set of a kind."""
    tables = {field: _alone(kind, field) for field in filters}
    return type(f"{kind.title()}ViewSet", (EntryViewSet,), {"kind": kind, "filters": tables})


def _alone(kind: str, field: str) -> type[Table]:
    """A table of one field, as entries of a kind have it; `as_of` is a day."""
    definition: Any = {field: (Day, ...)}
    if field != AS_OF:
        known = KINDS[kind].schema.model_fields[field]
        definition = {field: (known.annotation, known)}
    return create_model(field, __base__=Table, **definition)


VIEW_SETS = {
    "hardware": view_set("hardware", "vendor"),
    "models": view_set("models", "kv_dtype"),
    "profiles": view_set("profiles", "model", "hardware", "engine"),
    "traffic": view_set("traffic"),
    "links": view_set("links"),
    "prices": view_set("prices", "hardware", "provider", "region", "kind", "date", AS_OF),
    "measurements": view_set("measurements", "model", "hardware", "engine"),
    "scenarios": view_set("scenarios"),
    "comparisons": view_set("comparisons"),
}
