import pytest

from planner import bandwidth


@pytest.mark.parametrize(
    ("model", "column", "gbps"),
    [
        ("MiniMax-M2.5 229B", 0, 3800),
        ("Qwen3-235B", 0, 2100),
        ("Ring-2.5-1T", 0, 166),
        ("Ring-2.5-1T", 1, 93),
        ("Ring-2.5-1T", 2, 1800),
    ],
)
def test_large_clusters_push_out_what_the_paper_says(model, column, gbps):
    demand = next(each for each in bandwidth.demands() if each.title == model)
    assert demand.egress_bps[column] == pytest.approx(gbps * 1e9, rel=0.02)


def test_dense_attention_comes_first():
    assert [demand.attention for demand in bandwidth.demands()][:2] == ["GQA", "GQA"]
