"""Numba, behind one function."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from typing import Any

import numba

from planner.engine.simulation import state

_sources = hashlib.sha256(inspect.getsource(state).encode())  # all use its numbers
_seen: set[str] = set()


def compiled[F: Callable[..., object]](function: F, whole: bool = False) -> F:
    """The function as machine code; `whole` for one that Python calls, the others become part of their callers.

    Numba keeps what it compiled by the file of the function alone, and would not notice a change in what it calls.
    So the name it is kept by has a digest of every file of which something was compiled before it.
    """
    if function.__module__ not in _seen:
        _seen.add(function.__module__)
        _sources.update(inspect.getsource(inspect.getmodule(function) or function).encode())
    # Without _nrt nothing is allocated inside, and no references are counted: that alone takes ten times as long.
    options: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False}
    if not whole:
        inlined: F = numba.njit(forceinline=True, **options)(function)
        return inlined
    function.__qualname__ += f"-{_sources.hexdigest()[:16]}"
    try:
        kept: F = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # nowhere to keep it: then every process compiles it anew
        kept = numba.njit(**options)(function)
    return kept
