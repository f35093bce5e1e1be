"""Copies of plain documents, and looking at recordings as a whole: held to looking at each number."""

from copy import deepcopy

import pytest

from planner.documents.copying import copied, is_figures
from planner.documents.errors import DocumentError
from planner.documents.plain import require_plain

NAN, INF = float("nan"), float("inf")
DOCUMENT = {"a": [1, 2.5], "b": [{"c": [True, None]}, "text", []], "d": {"e": [[1, 2], [3]]}}


def test_a_copy_is_equal_and_shares_nothing_that_can_be_changed():
    made = copied(DOCUMENT)
    assert made == deepcopy(DOCUMENT)
    made["a"].append(3)
    made["b"][0]["c"].append(4)
    made["d"]["e"][0].append(5)
    assert DOCUMENT == {"a": [1, 2.5], "b": [{"c": [True, None]}, "text", []], "d": {"e": [[1, 2], [3]]}}


@pytest.mark.parametrize("values", [[True], [1, None], ["1"], [1, [2]], [{}]])
def test_what_holds_anything_beside_numbers_is_no_recording(values):
    assert not is_figures(values)


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("beside", [[1.0, 2], [NAN, 1], [1, NAN], [INF, -INF]])
@pytest.mark.parametrize("wrong", [10**301, -(10**301)])
def test_a_number_that_is_too_large_is_found_wherever_it_stands(wrong, beside, at):
    values = [*beside[:at], wrong, *beside[at:]]
    with pytest.raises(DocumentError) as told:
        require_plain({"samples": values})
    assert told.value.errors[0].field == f"samples.{values.index(wrong)}"
    require_plain({"samples": beside})
