"""How many examples of a property are tried."""

import os

from hypothesis import settings

TIMES = {"thorough": 25}
"""As many as in the default run, by HYPOTHESIS_PROFILE."""


def examples(count):
    """Of a property that takes long to try: so many in the default run."""
    return settings(max_examples=count * TIMES.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 1), deadline=None)
