"""What the detail pages draw, held to published figures, closed forms and counts by hand."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import catalog, seeding, store
from planner.charts import arrivals, charts, kv, links, prices, profiles, traffic
from planner.charts.fits import fits
from planner.importers import traces
from tests.shared_data import SHARED, needs_shared_data

RING = catalog.entry("models", "ring-2-5-1t")
TABLE = catalog.published()["kv_throughput"]


def at(curve, tokens, key):
    return curve[key][curve["tokens"].index(tokens)]


# --- models and profiles -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "tokens", "size"),
    [("bf16", 1024, 305397760), ("bf16", 131072, 1803550720), ("fp8", 8192, 340787200), ("fp8", 131072, 1048576000)],
)
def test_both_parts_of_s_kv_make_up_the_published_bytes(dtype, tokens, size):
    shown = kv.s_kv(RING)
    parts = shown["parts"][dtype]
    where = shown["tokens"].index(tokens)
    assert parts["block_level_bytes"][where] + parts["request_level_bytes"][where] == size
    assert parts["request_level_bytes"][where] == 293601280


def test_s_kv_reaches_from_256_tokens_to_the_longest_prompt_and_keeps_the_measured_points():
    shown = kv.s_kv(catalog.entry("models", "internal-1t-hybrid"))
    assert (shown["tokens"][0], shown["tokens"][-1]) == (256, 2**20)
    assert shown["measured"]["tokens"] == [1024, 8192, 32768, 131072]
    for tokens, size in zip(shown["measured"]["tokens"], shown["measured"]["bytes"], strict=True):
        assert at(shown, tokens, "used_bytes") == pytest.approx(size, rel=1e-12)
    assert shown["provenance"]["measured"]["kind"] == "published"
    assert shown["provenance"]["layers"]["kind"] == "inferred"


def test_a_model_without_layers_has_no_parts():
    document = {"name": "m", "measured": {"tokens": [100, 1000], "bytes": [1e6, 1e7]}}
    shown = kv.s_kv(document)
    assert shown["parts"] is None
    assert shown["tokens"][0] == 100
    assert shown["provenance"] == {"layers": None, "measured": {"kind": "user", "source": "no source given"}}


@pytest.mark.parametrize("model", TABLE["models"], ids=lambda model: model["entry"])
def test_phi_kv_of_the_seeded_profiles_is_the_published_one(model):
    entry = catalog.entry("models", model["entry"])
    (shown,) = kv.of_model(entry, catalog.SHIPPED.profiles(model["entry"]))["kv_rate"]
    assert shown["points"]["tokens"] == TABLE["tokens"]
    assert shown["points"]["bps"] == pytest.approx(model["bps"], rel=5e-3)
    for tokens, bps in zip(TABLE["tokens"], model["bps"], strict=True):
        assert at(shown, tokens, "bps") == pytest.approx(bps, rel=5e-3)
    assert shown["provenance"]["kind"] == "inferred"


def profile(**more):
    """Of times that are 0.1 + 1e-5 l + 1e-9 l² exactly."""
    tokens = [1000.0, 10_000.0, 100_000.0]
    seconds = [0.1 + 1e-5 * at + 1e-9 * at**2 for at in tokens]
    prefill = {"tokens": tokens, "seconds": seconds, "interpolation": "quadratic"}
    return {"name": "p", "model": "m", "hardware": "h", "gpus_per_instance": 8, "prefill": prefill, **more}


def test_the_fit_beside_the_points_is_the_polynomial_that_made_them():
    shown = profiles.of_profile(profile(), None)
    assert shown["prefill"]["fit"] == pytest.approx({"t0_s": 0.1, "a_s": 1e-5, "b_s": 1e-9}, rel=1e-6)
    assert np.abs(shown["residuals"]["fit"]).max() < 1e-6
    assert shown["prefill"]["measured_tokens"] == [1000, 100_000]
    assert (shown["prefill"]["tokens"][0], shown["prefill"]["tokens"][-1]) == (250, 400_000)
    assert (shown["kv_rate"], shown["cached"], shown["decode"]) == ([], None, None)


def test_two_points_have_no_fit_and_a_falling_time_is_told():
    prefill = {"tokens": [1000.0, 2000.0], "seconds": [0.2, 0.1]}
    shown = profiles.of_profile(profile(prefill=prefill), None)
    assert (shown["prefill"]["fit"], shown["residuals"]["fit"]) == (None, None)
    assert shown["residuals"]["falls"] == [[1000, 2000]]
    assert shown["residuals"]["left_out"] == [None, None]


def test_cached_and_decode_points_are_grouped_and_their_fits_go_through_them():
    new, cached, batch, context = (512.0, 4096.0), (0.0, 16384.0), (1.0, 16.0), (4096.0, 32768.0)
    made = [
        {"new_tokens": n, "cached_tokens": c, "seconds": 0.1 + 2e-5 * n + 1e-9 * n * (n + 2 * c)}
        for c in cached
        for n in reversed(new)
    ]
    steps = [
        {"batch": b, "context_tokens": c, "seconds": 0.01 + 1e-4 * b + 1e-9 * b * c} for b in batch for c in context
    ]
    shown = profiles.of_profile(profile(prefill_cached=made, decode=steps), None)
    assert [group["cached_tokens"] for group in shown["cached"]["groups"]] == [0, 16384]
    assert [group["context_tokens"] for group in shown["decode"]["groups"]] == [4096, 32768]
    for group in shown["cached"]["groups"]:
        assert group["points"]["new_tokens"] == [512, 4096]
        ends = [group["fit"]["seconds"][0], group["fit"]["seconds"][-1]]
        assert ends == pytest.approx(group["points"]["seconds"], rel=1e-6)


def test_a_decode_step_of_unknown_context_is_a_point_without_a_line():
    shown = profiles.of_profile(catalog.entry("profiles", "internal-1t-hybrid-h20x8"), None)["decode"]
    assert shown["groups"] == [
        {"context_tokens": None, "points": {"batch": [20.0], "seconds": [0.025]}, "fit": None},
    ]


# --- traffic -----------------------------------------------------------------------------------------------------


def requests(**more):
    case = {"distribution": "truncated_log_normal", "mu": 9.9, "sigma": 1.0, "min": 128, "max": 131072}
    return {"name": "t", "input_tokens": case, "output_tokens": 1024, **more}


def test_lengths_of_the_case_study_are_cut_where_the_paper_cuts_them():
    (shown,) = traffic.of_traffic(requests(), None)["lengths"]
    assert shown["mean_tokens"] == pytest.approx(27486, rel=1e-4)
    share = np.interp(math.log(19400), np.log(shown["cdf"]["tokens"]), shown["cdf"]["share"])
    assert 1 - share == pytest.approx(0.4957, abs=2e-4)


def test_recorded_lengths_are_counted():
    samples = {"distribution": "empirical", "samples": [1, 2, 2, 1000], "counts": [1, 1, 1, 7]}
    (shown,) = traffic.of_traffic(requests(input_tokens=samples), None)["lengths"]
    edges = shown["edges_tokens"]
    assert (edges[0], edges[-1]) == (0.5, 1000.5)
    counted = np.histogram([1, 2, 2, *[1000] * 7], edges)[0]
    assert np.array(shown["share"]) * 10 == pytest.approx(counted)
    assert shown["cdf"]["share"][-1] == 1


def test_percentiles_of_recorded_lengths_are_lengths_that_occur():
    samples = {"distribution": "empirical", "samples": [100, 350, 597, 9000], "counts": [4, 1, 4, 1]}
    (shown,) = traffic.of_traffic(requests(input_tokens=samples), None)["lengths"]
    assert (shown["p50_tokens"], shown["p90_tokens"]) == (350, 597)


lengths = st.lists(st.integers(1, 200_000), min_size=1, max_size=60)


@given(lengths)
def test_every_request_is_in_one_bin(samples):
    given_lengths = {"distribution": "empirical", "samples": [float(each) for each in samples]}
    (shown,) = traffic.of_traffic(requests(input_tokens=given_lengths), None)["lengths"]
    assert sum(shown["share"]) == pytest.approx(1)
    assert np.all(np.diff(shown["edges_tokens"]) > 0)
    assert np.all(np.diff(shown["cdf"]["share"]) >= 0)


def test_what_the_cache_leaves_and_answers_are_drawn_where_they_are_distributions():
    prefix = {"reuse": "by_length", "tokens": [1000, 100_000], "hit_ratio": [0.0, 0.8]}
    answers = {"distribution": "pareto", "alpha": 1.2, "min": 16, "max": 4096}
    shown = traffic.of_traffic(requests(prefix=prefix, output_tokens=answers), None)
    assert [each["what"] for each in shown["lengths"]] == ["input", "uncached input", "output"]
    curve = shown["prefix"]["curve"]
    middle = np.interp(math.log(10_000), np.log(curve["tokens"]), curve["hit_ratio"])
    assert middle == pytest.approx(0.4, abs=1e-3)  # half-way in ln l
    assert shown["is_recorded"] is False


def test_recorded_reuse_has_the_trace_s_hits_by_length():
    prefix = {"reuse": "recorded", "block_tokens": 512, "token_hit_ratio": 0.3, "uncached": {"samples": [10, 20]}}
    by_length = {"tokens": [100.0], "hit_ratio": [0.3], "requests": [2.0]}
    shown = traffic.of_traffic(requests(prefix=prefix), {"hit_ratio_by_length": by_length})["prefix"]
    assert (shown["points"], shown["token_hit_ratio"]) == (by_length, 0.3)
    assert traffic.of_traffic(requests(prefix=prefix), None)["prefix"]["points"]["tokens"] == []


def shown_arrivals(rate=3.0, **process):
    document = requests(arrivals=process, rate_rps=rate)
    return arrivals.arrivals(document, traffic.Traffic.model_validate(document))


def test_a_day_is_highest_at_its_peak_hour_and_has_its_mean():
    shown = shown_arrivals(process="diurnal", amplitude=0.5, peak_hour=6.0)["expected"]
    assert max(shown["rate_rps"]) == pytest.approx(4.5)
    assert shown["seconds"][int(np.argmax(shown["rate_rps"]))] == 6 * 3600
    assert np.mean(shown["rate_rps"][:-1]) == pytest.approx(3)


def test_both_states_of_an_mmpp_make_up_the_mean_and_a_sample_says_what_it_is():
    shown = shown_arrivals(process="mmpp", multipliers=[1.0, 6.0], sojourn_s=[120.0, 20.0])
    rates, shares = ([state[key] for state in shown["states"]] for key in ("rate_rps", "time_share"))
    assert rates == pytest.approx([1.75, 10.5])  # 3 · 140 / (1 · 120 + 6 · 20)
    assert np.dot(rates, shares) == pytest.approx(3)
    sample = shown["sample"]
    assert sum(sample["rate_rps"]) * sample["interval_s"] == pytest.approx(sample["arrivals"])
    assert shown["expected"] is None


@pytest.mark.parametrize("sojourn", [1e-3, 1e9])
@pytest.mark.parametrize("rate", [1e-18, 1.0, 1e9])
def test_a_sample_ends_however_rates_and_stays_compare(rate, sojourn):
    shown = shown_arrivals(rate, process="mmpp", multipliers=[0.0, 1.0], sojourn_s=[sojourn, sojourn])
    assert shown["sample"] is None or np.all(np.isfinite(shown["sample"]["rate_rps"]))


def test_without_a_rate_one_request_a_second_is_drawn_and_said():
    shown = shown_arrivals(None, process="poisson")
    assert (shown["rate_rps"], shown["shown_rps"], shown["cv"]) == (None, 1.0, 1.0)


def test_a_long_record_is_put_together_without_losing_requests():
    recorded = [float(each) for each in range(1, 4001)]
    shown = shown_arrivals(2000.5, process="recorded", interval_s=10.0, rate_rps=recorded)["expected"]
    assert len(shown["seconds"]) <= arrivals.MOST_POINTS
    assert shown["rate_rps"][0] == pytest.approx(2)  # the mean of 1, 2 and 3
    assert shown["interval_s"] == 30


def test_fits_find_the_family_that_made_the_record():
    samples = np.exp(np.random.default_rng(1).normal(7.0, 0.5, 4000))
    found = fits(requests(input_tokens={"distribution": "empirical", "samples": samples.tolist()}))
    by_family = {each["parameters"]["distribution"]: each for each in reversed(found)}
    normal = by_family["truncated_log_normal"]
    assert normal["parameters"]["mu"] == pytest.approx(7.0, abs=0.05)
    assert normal["warning"] is None
    assert normal["qq"]["fitted_tokens"][49] == pytest.approx(math.exp(7.0), rel=0.05)
    assert by_family["gamma"]["ks_distance"] > 2 * normal["ks_distance"]
    assert sum(normal["share"]) == pytest.approx(1)


def test_a_distribution_or_a_single_length_is_not_fitted():
    assert fits(requests()) is None
    assert fits(requests(input_tokens={"distribution": "empirical", "samples": [5.0, 5.0]})) == []


@needs_shared_data
def test_a_real_trace_of_few_templates_is_better_kept_as_it_is():
    document = traces.read(SHARED / "traces" / "AzureLLMInferenceTrace_2023_conv.csv.gz", {}).document
    found = fits(document)
    assert all("keep the empirical" in each["warning"] for each in found)
    (given_lengths, *_) = traffic.of_traffic(document, None)["lengths"]
    assert given_lengths["mean_tokens"] == pytest.approx(1155, abs=0.5)


# --- prices and links --------------------------------------------------------------------------------------------


def offer(name, **more):
    return {"name": name, "hardware": "x1", "kind": "on_demand", "usd_per_gpu_hour": 2.0, **more}


BOUGHT = {
    "name": "bought", "hardware": "x1", "kind": "purchase", "date": "2026-01-01",
    "purchase": {"usd_per_gpu": 35064.0, "amortisation_years": 4, "usd_per_kwh": 0.1, "pue": 1.5},
}  # fmt: skip


def test_offers_are_in_order_and_undated_ones_last():
    given_offers = [offer("c"), offer("b", date="2026-03-01"), offer("a", date="2026-02-01")]
    found = prices.of_hardware({"name": "x1"}, given_offers)["offers"]
    assert [each["name"] for each in found] == ["a", "b", "c"]
    assert found[-1]["date"] is None


def test_a_purchase_is_priced_by_the_hour_where_its_power_is_known():
    (found,) = prices.of_hardware({"name": "x1", "tdp_w": 1000.0}, [BOUGHT])["offers"]
    assert found["usd_per_gpu_hour"] == pytest.approx(1.0 + 0.15)  # 35064 / (4 · 8766), and 1 kW · 1.5 · 0.1
    (found,) = prices.of_hardware({"name": "x1"}, [BOUGHT])["offers"]
    assert found["usd_per_gpu_hour"] is None


def test_a_window_a_round_trip_is_all_that_one_connection_carries():
    # the textbook's 64 KiB over 100 ms: 5.24 Mbit/s
    assert float(links.window_bound(65536, 0.1)) == pytest.approx(5.24e6, rel=1e-3)
    assert links.window_bound(65536, 0.1, [1, 10])[1] == pytest.approx(5.24e7, rel=1e-3)


def test_loss_bounds_a_connection_as_mathis_has_it():
    # 1,460 bytes, 100 ms, one packet in 10,000: 116.8 kbit/s · 1.2247 / 0.01
    assert float(links.mathis_bound(1e-4, 0.1)) == pytest.approx(14.3e6, rel=1e-3)
    assert float(links.mathis_bound(4e-4, 0.1)) == pytest.approx(14.3e6 / 2, rel=1e-3)


def test_a_link_without_round_trip_time_or_loss_has_no_bound_by_them():
    assert links.of_link({"name": "l", "bandwidth_bps": 1e9}) == {"background": None, "tcp": None}
    shown = links.of_link({"name": "l", "bandwidth_bps": "unlimited", "rtt_s": 0.01, "connections": 3})["tcp"]
    assert (shown["loss_bps"], shown["bandwidth_bps"]) == (None, None)
    assert 3 in shown["connections"]


@pytest.mark.parametrize(
    ("background", "busiest"),
    [
        ({"kind": "constant", "share": 0.25}, 0.25),
        ({"kind": "diurnal", "mean_share": 0.3, "amplitude": 0.2, "peak_hour": 18.0}, 0.5),
        ({"kind": "diurnal", "mean_share": 0.9, "amplitude": 0.2}, 1.0),
        ({"kind": "recorded", "interval_s": 60.0, "share": [0.1, 0.6, 0.2]}, 0.6),
    ],
)
def test_background_use_is_drawn_within_the_link(background, busiest):
    document = {"name": "l", "bandwidth_bps": 1e9, "background": background}
    shown = links.of_link(document)["background"]
    assert max(shown["share"]) == pytest.approx(busiest)
    assert links.busiest_share(links.Link.model_validate(document)) == pytest.approx(busiest)


# --- stored entries ----------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_everything_that_is_shipped_can_be_drawn_as_plain_numbers():
    seeding.seed()
    for kind in ("hardware", "models", "profiles", "traffic", "links", "prices"):
        for entry in store.entries(kind):
            assert json.dumps(charts(entry), allow_nan=False), entry


@pytest.mark.django_db
def test_a_chip_has_the_offers_that_are_stored_and_not_archived():
    store.create("hardware", {"name": "x1"})
    first, second = (store.create("prices", offer(name, date="2026-01-01")) for name in ("first", "second"))
    store.archive(second, revision=1)
    found = charts(store.named("hardware", "x1"))["prices"]["offers"]
    assert [each["name"] for each in found] == ["first"]
    assert charts(first)["this"] == "first"
