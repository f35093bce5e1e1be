"""Addresses that are not there."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView


class NoSuchAddress(APIView):
    """Any other address of the API, so that a program reads the refusal of a slip as it reads all others."""

    permission_classes = (AllowAny,)
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound(f"Nothing is at {request.path}; the addresses are listed in the schema.")
