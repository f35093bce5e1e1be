"""A replay, field by field: the window as it was, and what is tried in it instead."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from planner.documents.fields import Name, Share, Table, Text, Tokens
from planner.simulating.stages import TrackTable

MOST_POLICIES = 10
MOST_REPLICATIONS = 400
"""Of all policies together."""
MOST_REQUESTS = 20_000_000
"""Of all replications together: some minutes of two cores."""
LONGEST_NOTES = 200

Instances = Annotated[int, Field(ge=0, le=10_000)]


class Policy(Table):
    """What is tried: how requests are routed, and on how many instances; what is left out is as recorded."""

    policy: Literal["as_recorded", "static", "bandwidth_aware", "advised", "as_recommended"]
    name: Name | None = None
    threshold_tokens: Tokens | None = None
    """Of static t itself; of bandwidth_aware the one from which it is raised. Of advised it is found."""
    best_split: bool = False
    """Of advised: whether N_p/N_d is found together with t."""
    roles: bool = False
    """Whether PD instances change their role where one role is short."""
    prfaas_instances: Instances | None = None
    prefill_instances: Instances | None = None
    decode_instances: Instances | None = None


class Recommended(TrackTable):
    """t as it was recommended while it happened, and kept where nothing was."""

    share: Annotated[float, Field(gt=0, le=1)]
    """Of the intervals, those in which anything was recommended."""


class Replay(Table):
    """What is simulated; `simulation` is complete, and every policy has its t, once it has been read."""

    schema_version: Literal[1] = 1
    simulation: dict[str, Any]
    """The window as it was."""
    policies: Annotated[list[Policy], Field(min_length=1, max_length=MOST_POLICIES)]
    recommended: Recommended | None = None
    """What policy as_recommended follows; None where nothing was recommended."""
    headroom: Share = 0.1
    """Of the link, what an advised t leaves free."""
    watch: Text = ""
    """Whose window it is, ..."""
    start_ms: Annotated[int, Field(ge=0)] = 0
    """... when it began, in epoch milliseconds, ..."""
    measured: dict[str, Any] = Field(default_factory=dict)
    """... what was measured in it, to stand beside what is simulated, ..."""
    recording: dict[str, Any] = Field(default_factory=dict)
    """... and from what it was made."""
    notes: Annotated[list[str], Field(max_length=LONGEST_NOTES)] = Field(default_factory=list)
    """What was assumed where the recording says nothing."""
