"""Request bodies, read as files are. In a module of its own: the framework imports it before its views."""

from __future__ import annotations

from typing import Any

from rest_framework import status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser

from planner.catalog import files

LARGEST_BODY = 16 * 2**20


class BodyTooLarge(APIException):
    """More than a scenario with a million recorded lengths."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = f"The body must not exceed {LARGEST_BODY // 2**20} MiB."


class DocumentParser(JSONParser):
    """JSON as files are read: no NaN, no repeated keys, bounded in size and depth."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The body's value. Raises ParseError and BodyTooLarge."""
        body = stream.read(LARGEST_BODY + 1)
        if len(body) > LARGEST_BODY:
            raise BodyTooLarge
        try:
            return files.parse_json(body)
        except files.Unreadable as problem:
            raise ParseError(f"JSON parse error: {problem}") from problem
