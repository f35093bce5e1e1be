"""Bodies that are nearly right: what a decoder must survive."""

import math
import os

from hypothesis import settings
from hypothesis import strategies as st

from monitoring.readings import Histogram, Malformed, Unsupported

thoroughly = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "60")))
"""FUZZ_EXAMPLES=10000 is the long run."""


@st.composite
def damaged(draw, whole: bytes) -> bytes:
    """`whole`, cut short, with some bytes changed, or with a piece of it repeated or put elsewhere."""
    body = bytearray(whole[: draw(st.integers(0, len(whole)))] if draw(st.booleans()) else whole)
    for _ in range(draw(st.integers(0, 4))):
        if body:
            body[draw(st.integers(0, len(body) - 1))] = draw(st.integers(0, 255))
    if draw(st.booleans()):
        start, at = draw(st.integers(0, len(body))), draw(st.integers(0, len(body)))
        body[at:at] = body[start : start + draw(st.integers(0, 40))]
    return bytes(body)


def check(decode, *message) -> None:
    """`decode` makes sound readings of the message, or says that it is none."""
    try:
        readings, rejected = decode(*message)
    except (Malformed, Unsupported):
        return
    for reading in readings:
        assert reading.name
        assert all(isinstance(text, str) for label in reading.labels.items() for text in label)
        for point in reading.points:
            assert 0 < point.ts_ms < 2**63
            _check_value(point.value)
    assert all(one.reason and one.index >= 0 for one in rejected)


def _check_value(value):
    if isinstance(value, Histogram):
        assert len(value.counts) == len(value.bounds) + 1
        assert list(value.bounds) == sorted(set(value.bounds))
        assert all(math.isfinite(one) for one in value.bounds + value.counts)
        assert min(value.counts) >= 0
        assert not math.isinf(value.total)
    else:
        assert type(value) is float
        assert math.isfinite(value)
