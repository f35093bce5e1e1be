"""What the live monitor stores."""

from monitoring.models.advising import Recommendation
from monitoring.models.alerting import (
    Alert,
    AlertRule,
    Delivery,
    Hook,
    HookToken,
    Note,
    Receiver,
    Remembered,
    Silence,
)
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
    "Alert",
    "AlertRule",
    "Delivery",
    "Entered",
    "Fetched",
    "Frame",
    "Hook",
    "HookToken",
    "Lease",
    "Note",
    "OwnMapping",
    "Pending",
    "Pull",
    "Quarantined",
    "Receiver",
    "Recommendation",
    "Remembered",
    "Rollup",
    "Sample",
    "Series",
    "Silence",
    "Source",
    "Target",
    "Tick",
    "Token",
    "Watch",
]
