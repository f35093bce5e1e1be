"""A chip."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planner.documents.fields import Positive, Table, Text
from planner.entries.base import Entry


class DenseFlops(Table):
    """Dense FLOP/s of one chip by precision; null where it does not have it, or nobody says."""

    bf16: Positive | None = None
    fp8: Positive | None = None
    fp4: Positive | None = None
    int8: Positive | None = None


class Hardware(Entry):
    """A chip: what it computes, holds and moves, all a chip, in SI units."""

    vendor: Text = ""
    dense_flops: DenseFlops = DenseFlops()
    memory_bytes: Positive | None = None
    memory_bytes_per_s: Positive | None = None
    tdp_w: Positive | None = None
    nic_bps: Positive | None = None
    """Scale-out network of one chip in one direction."""
    scale_up_bytes_per_s: Positive | None = None
    """Fabric between the chips of a node, of one chip in one direction."""
    gpus_per_node: Annotated[int, Field(ge=1, le=10_000)] | None = None
