"""What every endpoint shares: scenarios in request bodies, and one shape for errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework import status
from rest_framework.exceptions import ErrorDetail, NotAuthenticated, ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler as rest_exception_handler

from planner import scenario, store
from planner.documents.errors import FieldError, refuse
from planner.engine.throughput import Form
from planner.scenario import DocumentError, Scenario

ENVELOPE = ("scenario", "form", "set")


@dataclass(frozen=True, slots=True)
class ScenarioRequest:
    """A validated request: the scenario with its overrides, and the form to evaluate it in."""

    scenario: Scenario
    form: str


def read_request(data: Any, query: Mapping[str, str], options: tuple[str, ...] = ()) -> ScenarioRequest:
    """Reads a body that is a scenario document, or an envelope {scenario, form, set} around one or around a name.

    `options` names further envelope fields that the endpoint reads itself. Raises DocumentError.
    """
    if not isinstance(data, Mapping):
        raise refuse(None, None, "the body must be a JSON object: a scenario document, or {scenario, form, set}")
    envelope = data if "scenario" in data else {"scenario": data}
    form: Any = envelope.get("form", query.get("form", Form.EXACT.value))
    found = list(_envelope_mistakes(envelope, form, (*ENVELOPE, *options)))
    try:
        asked = scenario_of(envelope["scenario"], envelope.get("set", {}))
    except DocumentError as problem:
        raise DocumentError([*found, *problem.told], problem.more) from problem
    if found:
        raise DocumentError(found)
    return ScenarioRequest(asked, str(form))


def _envelope_mistakes(envelope: Mapping[Any, Any], form: Any, allowed: tuple[str, ...]) -> Iterator[FieldError]:
    for field in envelope:
        if field not in allowed:
            yield FieldError(field, envelope[field], f"is not a field here; allowed: {', '.join(allowed)}")
    if form not in [known.value for known in Form]:
        yield FieldError("form", form, f"must be one of {', '.join(Form)}")


def scenario_of(given: Any, overrides: Any, field: str = "scenario") -> Scenario:
    """A scenario by name or from its document, with `overrides` applied. Raises DocumentError."""
    if not isinstance(overrides, Mapping):
        raise refuse("set", overrides, "must be an object of PATH to value")
    if isinstance(given, str):
        return _named(given, overrides, field)
    if isinstance(given, Mapping):
        return scenario.parse(given, overrides, store.STORED)
    raise refuse(field, given, "must be the name of a scenario or a scenario document")


def _named(name: str, overrides: Mapping[str, Any], field: str) -> Scenario:
    """A shipped scenario, which nobody can change, or else a stored one. Raises DocumentError."""
    if name in scenario.SHIPPED:
        return scenario.shipped(name, overrides, store.STORED)
    found = store.named(store.SCENARIOS, name)
    if found is None:
        known = ", ".join(sorted({*scenario.SHIPPED, *store.STORED.names(store.SCENARIOS)[:20]}))
        raise refuse(field, name, f"is neither a shipped nor a stored scenario; known: {known}")
    return scenario.parse(found.document, overrides, store.STORED)


ACCOUNT = "this needs an account: sign in, or send its name and password as HTTP Basic"


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Every refusal as {"errors": [{field, value, message}]}; what is not a refusal stays an exception."""
    if isinstance(error, DocumentError):
        return Response({"errors": [one.as_json() for one in error.errors]}, status=status.HTTP_400_BAD_REQUEST)
    if isinstance(error, store.Conflict | store.InUse):
        said = FieldError(None, None, str(error))
        return Response({"errors": [said.as_json()]}, status=status.HTTP_409_CONFLICT)
    if isinstance(error, RequestDataTooBig):
        said = FieldError(None, None, f"the body must not exceed {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes")
        return Response({"errors": [said.as_json()]}, status=status.HTTP_413_REQUEST_ENTITY_TOO_LARGE)
    if isinstance(error, NotAuthenticated):
        error.detail = ErrorDetail(ACCOUNT)
    response = rest_exception_handler(error, context)
    if response is not None:
        given = _given(context.get("request")) if isinstance(error, ValidationError) else {}
        response.data = {"errors": [one.as_json() for one in _errors(response.data, given)]}
    return response


def _given(request: Any) -> Any:
    """What the request says, by field."""
    if request is None:
        return {}
    return request.query_params if request.method in ("GET", "HEAD") else request.data


def _errors(said: Any, given: Any) -> list[FieldError]:
    """What the framework says of a request: one `detail`, or sentences by field."""
    if isinstance(said, dict):
        return [_error(None if field == "detail" else field, said[field], given) for field in said]
    return [_error(None, said, given)]


def _error(field: str | None, said: Any, given: Any) -> FieldError:
    return FieldError(field, None if field is None else _at(given, field), _sentence(said))


def _at(given: Any, field: str) -> Any:
    """The value of a dotted field as it was given; None where there is none, or a file."""
    for name in field.split("."):
        if isinstance(given, list) and name.isdigit() and int(name) < len(given):
            given = given[int(name)]
        elif isinstance(given, Mapping):
            given = given.get(name)
        else:
            return None
    return given if isinstance(given, (str, int, float, bool, list, dict)) else None


def _sentence(said: Any) -> str:
    return " ".join(map(str, said)) if isinstance(said, list) else str(said)
