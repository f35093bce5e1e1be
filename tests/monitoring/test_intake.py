"""What the doors share: windows of time, series in pieces, what no database would take, tokens."""

import math

import pytest

from monitoring import directory, intake, tokens
from monitoring.credentials import of_headers
from monitoring.intake import in_window, unfit
from monitoring.models import Source, Token
from monitoring.readings import Histogram, Point, Reading, joined
from monitoring.wire import Mapped

NOW_MS = 1_790_000_000_000
MINUTE_MS = 60_000


def reading(*ts_ms, start_ms=None, **labels):
    return Reading("ifHCOutOctets", labels, "counter", tuple(Point(each, 1.0, start_ms) for each in ts_ms))


# --- windows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ts_ms", [NOW_MS - 10 * MINUTE_MS, NOW_MS, NOW_MS + MINUTE_MS])
def test_points_of_the_last_ten_minutes_and_a_minute_ahead_are_of_now(ts_ms):
    given = [reading(ts_ms)]
    assert in_window(given, NOW_MS) == (given, [])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (reading(NOW_MS - 10 * MINUTE_MS - 1), "ifHCOutOctets: is older than 10 min"),
        (reading(NOW_MS + MINUTE_MS + 1), "ifHCOutOctets: is more than 60 s ahead of our clock"),
        (reading(NOW_MS, start_ms=-1), "ifHCOutOctets: began at -1, which is no time before now"),
        (reading(NOW_MS, start_ms=2**70), f"ifHCOutOctets: began at {2**70}, which is no time before now"),
    ],
)
def test_a_reading_of_another_time_is_rejected_with_the_reason(given, said):
    found, [rejected] = in_window([reading(NOW_MS), given], NOW_MS)
    assert found == [reading(NOW_MS)]
    assert (rejected.index, rejected.reason) == (1, said)


def test_of_a_reading_with_many_points_those_of_now_are_kept():
    [found], [rejected] = in_window([reading(0, 1, NOW_MS)], NOW_MS)
    assert found == reading(NOW_MS)
    assert rejected.reason == "ifHCOutOctets: 2 of 3 points: is older than 10 min"


# --- series in pieces --------------------------------------------------------------------------------------------


def test_the_pieces_of_a_series_become_one_reading_in_the_order_of_time():
    given = [reading(3, ifName="a"), reading(1, ifName="b"), reading(1, ifName="a"), reading(1, 2, ifName="a")]
    assert joined(given) == [reading(1, 2, 3, ifName="a"), reading(1, ifName="b")]


def test_readings_of_different_series_stay_as_they_are():
    given = [reading(1, ifName="a"), reading(1, ifName="b")]
    assert joined(given) is given


# --- what no database would take ---------------------------------------------------------------------------------


def mapped(*values, labels=(("link", "wan"),)):
    return Mapped("ttft_s", "gauge", labels, tuple(Point(NOW_MS + at, value) for at, value in enumerate(values)))


FIT = Histogram((0.1, 1.0), (1.0, 2.0, 3.0))


@pytest.mark.parametrize("series", [mapped(0.0, -1.5), mapped(FIT, FIT)])
def test_numbers_and_histograms_are_fit(series):
    assert unfit(series) is None


@pytest.mark.parametrize(
    ("series", "said"),
    [
        (mapped(1.0, math.nan), "no number"),
        (mapped(math.inf), "no number"),
        (mapped(1.0, labels=(("link", "a\0b"),)), "label link"),
        (mapped(FIT, Histogram((0.1, 2.0), (1.0, 2.0, 3.0))), "change within"),
        (mapped(FIT, 1.0), "change within"),
        (mapped(Histogram((0.1, math.inf), (1.0, 2.0, 3.0))), "bound"),
        (mapped(Histogram((0.1,), (1.0,))), "one more than its bounds"),
        (mapped(Histogram((0.1,), (1.0, math.nan))), "no numbers"),
    ],
)
def test_what_could_not_be_stored_is_told_before_it_is_acknowledged(series, said):
    assert said in unfit(series)


# --- clocks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("readings", "sent_ms", "skew_ms"),
    [
        ([reading(NOW_MS - 9000)], NOW_MS + 250, 250),
        ([reading(NOW_MS - 9000), reading(NOW_MS - 500), reading(NOW_MS - 400)], None, -500),
        ([], None, None),
        ([reading(2**80)], None, 366 * 86_400_000),
    ],
)
def test_a_clock_is_told_by_when_it_was_sent_or_else_by_its_middle_point(readings, sent_ms, skew_ms):
    assert intake._skew(readings, sent_ms, NOW_MS) == skew_ms


# --- tokens ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "secret"),
    [
        ("Bearer abc", "abc"),
        ("bearer  abc ", "abc"),
        ("Basic dXNlcjphOmI=", "a:b"),  # user:a:b
        ("Basic dXNlcg==", None),  # user
        ("Basic ?", None),
        ("Token abc", None),
        ("Bearer", None),
        ("", None),
        ("Bearer " + "x" * 201, None),
    ],
)
def test_a_token_is_read_from_bearer_or_basic(header, secret):
    assert of_headers(header) == secret


@pytest.mark.django_db
def test_only_the_hash_of_a_token_is_kept():
    token, secret = tokens.create(Source.objects.create(name="gw"))
    assert len(secret) >= 43
    assert token.digest == tokens.digest(secret)
    assert secret not in str(Token.objects.values())
    assert secret.startswith(token.hint)


@pytest.mark.django_db
def test_a_source_has_two_tokens_at_most_so_that_one_can_take_the_others_place():
    source = Source.objects.create(name="gw")
    first, _ = tokens.create(source)
    tokens.create(source)
    with pytest.raises(tokens.TooMany, match="revoke one"):
        tokens.create(source)
    tokens.revoke(first)
    tokens.create(source)


@pytest.mark.django_db
def test_the_directory_has_tokens_of_enabled_sources_and_notes_their_use():
    token, secret = tokens.create(Source.objects.create(name="gw", labels={"role": "router"}, systems=["llm-d"]))
    tokens.create(Source.objects.create(name="off", enabled=False))
    found = directory.read({token.pk})
    assert list(found) == [tokens.digest(secret)]
    known = found[tokens.digest(secret)]
    assert (known.name, known.labels, known.systems) == ("gw", (("role", "router"),), ("llm-d",))
    token.refresh_from_db()
    assert token.last_used_at is not None
