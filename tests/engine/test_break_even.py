"""Where a deployment with PrfaaS ties with the best one without it for the same money."""

import numpy as np
import pytest

from planner.engine import break_even, equal_cost
from planner.engine.least_cost import Bought
from planner.engine.lengths import Empirical
from planner.engine.throughput import Form
from tests.engine.test_equal_cost import space

PAPERS = Bought(0, 0, 0, 4, 3, 5, 19_400.0)


@pytest.mark.parametrize(("form", "ratio", "gain"), [(Form.EXACT, 2.48, 1.158), (Form.PAPER, 2.44, 1.137)])
def test_the_papers_deployment_ties_where_the_design_says(form, ratio, gain):
    found = break_even.tie(space(ratio=1.0, form=form), PAPERS, break_even.prfaas_price, np.linspace(1, 5, 9))
    assert found.ties == (pytest.approx(ratio, abs=6e-3),)
    assert np.all(np.diff(found.gain) < 0)
    # in whole instances the other deployment has 16 at a ratio of 2, and carries less than 16 with fractions
    assert 1.1 < break_even.gain(space(form=form), PAPERS) < gain


@pytest.mark.parametrize("form", Form)
def test_at_listed_prices_it_loses(form):
    """0.72 in the design, about which whole instances (25) and fractions (25.1, better split) lie on either side."""
    listed = 4.5 / 1.05
    alone = equal_cost.best(space(most_prfaas=0, form=form), 32 * listed + 64).limit.lambda_max_rps
    papers = equal_cost.at_best_split(space(form=form), PAPERS)[1].lambda_max_rps
    assert papers / alone == pytest.approx(0.725, abs=0.01)
    assert break_even.gain(space(ratio=listed, form=form), PAPERS) == pytest.approx(0.71, abs=0.01)


@pytest.mark.parametrize(
    ("vary", "values", "rising"),
    [
        (break_even.volume_price, np.linspace(0, 0.02, 5), False),
        (break_even.bandwidth, np.geomspace(1e9, 1e11, 5), True),
        (break_even.kv_size, np.geomspace(0.1, 100, 5), False),
    ],
)
def test_the_gain_moves_with_links_and_kvcache_and_is_one_at_the_tie(vary, values, rising):
    found = break_even.tie(space(), PAPERS, vary, values)
    steps = np.diff(found.gain) * (1 if rising else -1)
    assert np.all(steps >= -1e-9)
    (tie,) = found.ties
    assert break_even.gain(vary(space(), tie), PAPERS) == pytest.approx(1.0, rel=1e-8)


def test_longer_prompts_pay_for_prfaas():
    found = break_even.tie(space(), PAPERS, break_even.length, np.geomspace(0.1, 1, 4))
    assert found.gain[0] < 1 < found.gain[-1]
    assert len(found.ties) == 1


def test_only_a_log_normal_length_can_be_stretched():
    with pytest.raises(ValueError, match="truncated log-normal"):
        break_even.length(space(lengths=Empirical(np.array([100.0, 2000.0]))), 2.0)


def test_the_best_split_of_a_purchase_is_that_of_the_exhaustive_search():
    at, limit = equal_cost.at_best_split(space(), Bought(0, 0, 0, 4, 1, 7, 0.0))
    assert (at.prefill_instances, at.decode_instances) == (3, 5)
    assert limit.lambda_max_rps == pytest.approx(3.139, abs=6e-4)
