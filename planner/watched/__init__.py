"""What the planner offers to who watches a running system: the curves of its scenario, and a profile fitted anew."""

from planner.watched.deployment import Unusable, Watched, deployment_of, revision_of
from planner.watched.fitting import Seen, Unfit
from planner.watched.refit import Conflict, Preview, Refused, preview, store_refit

__all__ = [
    "Conflict",
    "Preview",
    "Refused",
    "Seen",
    "Unfit",
    "Unusable",
    "Watched",
    "deployment_of",
    "preview",
    "revision_of",
    "store_refit",
]
