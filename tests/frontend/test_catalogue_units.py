"""Numbers leave in people's units and come back as the same numbers."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from frontend.catalogue import units
from frontend.catalogue.units import read, unit_of, written

EVERY_UNIT = [
    units.PLAIN, units.GB, units.TB_PER_S, units.MIB, units.KIB, units.GBPS, units.TFLOPS, units.PERCENT, units.MS,
]  # fmt: skip


@given(st.floats(1e-18, 1e18), st.sampled_from(EVERY_UNIT))
@example(1.989562597791617e16, units.KIB)
def test_any_number_comes_back_as_the_same_number(value, unit):
    assert read(written(value, unit), unit) == value


@given(st.integers(0, 10**15), st.sampled_from(EVERY_UNIT))
def test_any_whole_number_comes_back_as_the_same_number(value, unit):
    assert read(written(value, unit), unit, whole=True) == value


@pytest.mark.parametrize(
    ("path", "stored", "typed", "unit"),
    [
        ("memory_bytes", 141e9, "141", "GB"),
        ("memory_bytes_per_s", 4.8e12, "4.8", "TB/s"),
        ("dense_flops.bf16", 989.5e12, "989.5", "TFLOP/s"),
        ("nic_bps", 400e9, "400", "Gbps"),
        ("rtt_s", 0.0725, "72.5", "ms"),
        ("loss", 1e-5, "0.001", "%"),
        ("measured.bytes", 200068300.8, "190.8", "MiB"),
        ("total_parameters", 1e12, "1000", "10⁹"),
        ("prefill.seconds", 0.44, "0.44", "s"),
        ("price.usd_per_gb", 0.02, "0.02", "USD/GB"),
    ],
)
def test_a_figure_is_typed_in_the_unit_that_people_use(path, stored, typed, unit):
    assert unit_of(path).text == unit
    assert written(stored, unit_of(path)) == typed
    assert read(typed, unit_of(path)) == stored


@pytest.mark.parametrize(
    ("typed", "value"), [("1,000", 1000), ("1,234,567.5", 1234567.5), (" 12 ", 12), ("6e9", 6e9), (".5", 0.5)]
)
def test_numbers_are_read_as_people_type_them(typed, value):
    assert read(typed) == value


@pytest.mark.parametrize("typed", ["", "1,5", "many", "NaN", "inf", "1e999", "12 GB", "0x10", "1_000", "9" * 61])
def test_what_is_no_number_is_refused(typed):
    with pytest.raises(ValueError, match="must be a"):
        read(typed)


def test_a_count_stays_a_whole_number_and_a_quantity_does_not_become_one():
    assert isinstance(read("8"), int)
    assert isinstance(read("80", units.GB), float)
    assert math.isclose(read("80", units.GB), 8e10, rel_tol=0)
