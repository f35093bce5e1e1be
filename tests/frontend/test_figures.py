"""Units and words as readers see them."""

import pytest

from frontend import figures, words
from frontend.templatetags.figures import mark, symbols


def test_the_difference_to_a_published_value_is_signed_and_in_percent():
    assert figures.difference(3.122, 3.24) == "−3.6"
    assert figures.difference(3.5133, 3.51) == "+0.1"
    assert figures.difference(2.2199, 2.22) == "0.0"


@pytest.mark.parametrize(("ours", "published"), [(None, 1.0), (1.0, None), (1.0, 0.0)])
def test_there_is_no_difference_where_one_side_is_missing(ours, published):
    assert figures.difference(ours, published) == "–"


def test_a_threshold_is_written_in_exact_tokens_and_egress_in_gbps():
    assert figures.tokens(19400.0) == "19,400"
    assert figures.gbps(12.2e9) == "12.20"
    assert figures.rate(None) == "–"


@pytest.mark.parametrize(("total_s", "text"), [(42, "42 s"), (185, "3 min 05 s"), (7620, "2 h 07 min")])
def test_a_duration_names_its_two_largest_units(total_s, text):
    assert figures.duration(total_s) == text


def test_the_binding_constraint_is_named_in_words():
    assert words.bound_by(["link", "pd_p"]) == "the link and PD-P"
    assert words.bound_by(["prfaas"]) == "PrfaaS compute"


def test_symbols_set_the_index_below_and_escape_the_rest():
    assert symbols("Λ_max <b>") == "Λ<sub>max</sub> &lt;b&gt;"
    assert symbols("N_prfaas / N_p") == "N<sub>prfaas</sub> / N<sub>p</sub>"


def test_a_provenance_mark_escapes_its_source():
    assert "&quot;&lt;x&gt;" in mark("user", '"<x>')
