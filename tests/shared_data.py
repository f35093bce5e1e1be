"""Real data that the project may read but not carry: tests find it here, and skip, saying so, where it is absent."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("PLANNER_SHARED_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
needs_shared_data = pytest.mark.skipif(
    not (SHARED / "models.json").exists(), reason=f"no shared data at {SHARED}; set PLANNER_SHARED_DATA"
)
