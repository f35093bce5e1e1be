"""Request bodies, read as files are. In a module of its own: the framework imports it before its views."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from planner.catalog import files


class DocumentParser(JSONParser):
    """JSON as files are read: UTF-8, no NaN, no repeated keys, no nesting without end."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The body's value. Raises ParseError."""
        try:
            return files.parse_json(stream.read())
        except files.Unreadable as problem:
            raise ParseError(f"JSON parse error: {problem}") from problem
