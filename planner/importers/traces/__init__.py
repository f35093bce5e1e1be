"""Traffic from request logs: what real users asked, when, and what of it a prefix cache would have held."""

from planner.importers.traces.entry import inspect, read
from planner.importers.traces.reader import TraceReader

open_trace = TraceReader

__all__ = ["TraceReader", "inspect", "open_trace", "read"]
