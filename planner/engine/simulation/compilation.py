"""Numba, behind one function."""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

# Each function is optimised once by itself and again in its callers: more than this takes a third longer, for nothing.
os.environ.setdefault("NUMBA_OPT", "1")

import numba

from planner.engine.simulation import layout

_sources = hashlib.sha256(inspect.getsource(layout).encode())  # all use its numbers
_seen: set[str] = set()
# Without _nrt nothing is allocated inside, and no references are counted: that alone takes ten times as long.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True, "_nrt": False, "no_cfunc_wrapper": True}
# Python calls the whole alone: a way in from Python for each function would take twice as long to compile.
WITHIN = OPTIONS | {"no_cpython_wrapper": True}


def compiled[F: Callable[..., object]](function: F) -> F:
    """The function as machine code that becomes part of its callers; Python must not call it, and would crash."""
    _remember(function)
    inlined: F = numba.njit(forceinline=True, **WITHIN)(function)
    return inlined


def seldom[F: Callable[..., object]](function: F) -> F:
    """The function as machine code of its own, for what happens seldom; not for Python to call either."""
    _remember(function)
    called: F = numba.njit(**WITHIN)(function)
    return called


def whole[F: Callable[..., object]](function: F, *besides: ModuleType) -> F:
    """The function as machine code that Python calls, and that is kept from one process to the next.

    Numba keeps what it compiled by the file of the function alone, and would not notice a change in what it calls.
    So the name it is kept by has a digest of every file of which something was compiled before it, and of those of
    `besides`, whose types it takes.
    """
    _remember(function)
    for module in besides:
        _sources.update(inspect.getsource(module).encode())
    function.__qualname__ += f"-{_sources.hexdigest()[:16]}"
    try:
        kept: F = numba.njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # nowhere to keep it: then every process compiles it anew
        kept = numba.njit(**OPTIONS)(function)
    return kept


def is_kept(function: Any) -> bool:
    """Whether machine code of a `whole` function is there from an earlier process."""
    path = function.stats.cache_path
    return path is not None and any(Path(path).glob(f"*.{function.__qualname__}-*.nbi"))


def _remember(function: Callable[..., object]) -> None:
    if function.__module__ not in _seen:
        _seen.add(function.__module__)
        _sources.update(inspect.getsource(inspect.getmodule(function) or function).encode())
