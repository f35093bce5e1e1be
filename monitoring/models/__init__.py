"""What the live monitor stores."""

from monitoring.models.telemetry import (
    Fetched,
    Frame,
    Lease,
    OwnMapping,
    Pending,
    Pull,
    Quarantined,
    Rollup,
    Sample,
    Series,
    Source,
    Target,
    Token,
)
from monitoring.models.watching import Entered, Tick, Watch

__all__ = [
    "Entered",
    "Fetched",
    "Frame",
    "Lease",
    "OwnMapping",
    "Pending",
    "Pull",
    "Quarantined",
    "Rollup",
    "Sample",
    "Series",
    "Source",
    "Target",
    "Tick",
    "Token",
    "Watch",
]
