"""Functions of the event loop, compiled so that Python may call them: they have no way in from Python themselves."""

import numba

from planner.engine.simulation.compilation import OPTIONS


def from_python(function):
    """The same, of a compiled function or of a plain one."""
    return numba.njit(**OPTIONS)(getattr(function, "py_func", function))
