"""What prefill clusters push onto a link (equation 2): what the paper claims, and what the stored catalogue says."""

from planner.bandwidth.asked import Asked, asked
from planner.bandwidth.claims import FLEETS, Demand, demands
from planner.bandwidth.reduction import reduction
from planner.bandwidth.wall import LINK_CLASSES, wall

__all__ = ["FLEETS", "LINK_CLASSES", "Asked", "Demand", "asked", "demands", "reduction", "wall"]
