"""The page of replays without a browser: its window, what is beside which field, the job, and what its page says."""

from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from frontend.replays import answer as answers
from frontend.replays.form import again
from monitoring.models import Watch
from planner.models import Job
from planner.simulating.replays.calibration import calibration
from tests.monitoring import brown_out

pytestmark = pytest.mark.django_db

START = brown_out.begun_ms(7200)
END = START + round(1000 * brown_out.DURATION_S)
PAGE = "/live/replay/"


def clock(ms):
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")


ASKED = {
    "watch": brown_out.WATCH, "start": clock(START), "end": clock(END), "tried": ["bandwidth_aware"],
    "fleet_policy": "as_recorded", "replications": "2", "seed": "3",
}  # fmt: skip


@pytest.fixture(scope="module")
def half_hour(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock():
        brown_out.store(START)
        brown_out.watched()
    yield
    with django_db_blocker.unblock():
        call_command("flush", verbosity=0, interactive=False)


@pytest.fixture
def operator():
    client = Client()
    client.force_login(User.objects.create_user("operator"))
    return client


def text(response):
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


# --- the form ----------------------------------------------------------------------------------------------------


def test_without_a_watch_the_page_says_how_to_begin(client):
    assert "No deployment is watched yet." in text(client.get(PAGE))


def test_a_last_hour_of_which_nothing_was_recorded_is_no_mistake_but_said(client):
    brown_out.watched()
    page = text(client.get(PAGE))
    assert "Nothing can be replayed of the last hour: requests_rps: no request was recorded" in page
    assert "data-summary" not in page


def test_a_window_shows_what_was_measured_in_it_and_stays_that_window(half_hour, client):
    page = text(client.get(PAGE, {"watch": brown_out.WATCH, "start": START, "end": END}))
    assert f'value="{clock(START)}:00"' in page
    assert f'value="{clock(END)}:00"' in page
    assert (
        '<tr data-row="Threshold t"><th scope="row">Threshold t</th><td class="text unit">tokens</td><td>19,400' in page
    )
    assert "4.00 to 100.00" in page  # the link's Gbps, as the brown-out has them
    assert "Sign in and replay" in page


def test_what_was_recommended_is_shown_and_offered_where_anything_was(half_hour, operator):
    window = {"watch": brown_out.WATCH, "start": START, "end": END}
    assert "As recommended at the time" not in text(operator.get(PAGE, window))
    brown_out.advised(START, [(at, 24_000.0) for at in range(900, 1800, 10)])
    page = text(operator.get(PAGE, window))
    row = page.split('<tr data-row="Recommended t">')[1].split("</tr>")[0]
    assert "24,000" in row
    assert "in 50.0 % of the window" in row
    operator.post(
        PAGE, ASKED | {"tried": ["as_recommended"], "fleet_policy": "as_recommended", "decode_instances": "4"}
    )
    replay = Job.objects.get().input["replay"]
    assert [each["policy"] for each in replay["policies"]] == 2 * ["as_recommended"]
    form = operator.get(again(replay)).context["form"]
    assert (form["tried"].value(), form["fleet_policy"].value()) == (["as_recommended"], "as_recommended")
    assert '<option value="as_recommended" selected>' in str(form["fleet_policy"])


@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"start": "yesterday"}, "start", "must be epoch milliseconds"),
        ({"start": "-10m", "end": ""}, "start", "no request was recorded"),
        ({"tried": []}, "tried", "choose one at least"),
        ({"tried": ["as_recommended"]}, "tried", "no t was recommended"),
        ({"tried": [], "threshold_tokens": "many"}, "threshold_tokens", "Enter a number"),
        ({"from_tokens": "1e12"}, "from_tokens", "at most"),
        ({"threshold_tokens": "-5"}, "threshold_tokens", "must be"),
        ({"decode_instances": "0"}, "decode_instances", "must be at least 1"),
        ({"decode_instances": "1.5"}, "decode_instances", "Enter a whole number"),
        ({"replications": "1000"}, "replications", "must be at most"),
        ({"replications": ""}, "replications", "required"),
        ({"seed": "-1"}, "seed", "must be at least 0"),
        ({"watch": "nobody"}, "watch", "Select a valid choice"),
    ],
)
def test_a_mistake_stands_beside_its_field_and_starts_nothing(half_hour, operator, typed, field, said):
    page = operator.post(PAGE, ASKED | typed).content.decode()
    beside = page.split(f'id="{field}-error"')[1].split("</p>")[0]
    assert said in beside
    assert f'<a href="#{field}">' in page
    assert not Job.objects.exists()


def test_a_refused_form_comes_back_as_it_was_typed(half_hour, operator):
    typed = ASKED | {"start": "yesterday", "tried": ["roles"], "threshold_tokens": "30K", "decode_instances": "few"}
    response = operator.post(PAGE, typed | {"fleet_policy": "advised", "replications": "five", "seed": ""})
    page = text(response)
    for name in ("start", "threshold_tokens", "decode_instances", "replications", "seed"):
        # A browser's field for numbers would show nothing of "30K", and send nothing if it was typed there.
        [field] = [tag for tag in page.split("<") if f'name="{name}"' in tag]
        value = response.context["form"][name].value()
        assert ('type="text"' in field, f'value="{value}"' in field or not value) == (True, True)
    assert "“30K” is none" in page
    assert [response.context["form"][name].value() for name in ("tried", "fleet_policy")] == [["roles"], "advised"]


def test_boxes_that_are_not_ticked_stay_so_when_another_window_is_looked_at(half_hour, client, operator):
    untouched = {name: value for name, value in ASKED.items() if name != "tried"} | {"threshold_tokens": "25000"}
    assert client.get(PAGE, untouched).context["form"]["tried"].value() == []
    address = parse_qs(urlsplit(client.post(PAGE, untouched)["Location"]).query)["next"][0]
    assert client.get(address).context["form"]["tried"].value() == []
    operator.post(PAGE, untouched)
    form = operator.get(again(Job.objects.get().input["replay"])).context["form"]
    assert (form["tried"].value(), form["threshold_tokens"].value()) == ([], "25000")


def test_whoever_has_not_signed_in_does_so_and_finds_the_form_as_it_was(half_hour, client):
    response = client.post(PAGE, ASKED | {"threshold_tokens": "25000"})
    address = parse_qs(urlsplit(response["Location"]).query)["next"][0]
    assert response["Location"].startswith("/login/")
    assert 'value="25000' in text(client.get(address))


def test_what_is_asked_becomes_a_job_whose_form_can_be_asked_again(half_hour, operator):
    fleet = {"threshold_tokens": "25000", "decode_instances": "4", "prefill_instances": "4"}
    asked = ASKED | fleet | {"tried": ["bandwidth_aware", "advised_split"], "from_tokens": "20000"}
    response = operator.post(PAGE, asked)
    job = Job.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"/jobs/{job.pk}/")
    replay = job.input["replay"]
    assert [(each["policy"], each["best_split"]) for each in replay["policies"]] == [
        ("bandwidth_aware", False), ("advised", True), ("static", False), ("as_recorded", False),
    ]  # fmt: skip
    form = operator.get(again(replay)).context["form"]
    shown = {name: form[name].value() for name in ("tried", "fleet_policy")}
    assert shown == {"tried": ["bandwidth_aware", "advised_split"], "fleet_policy": "as_recorded"}
    numbers = ("from_tokens", "threshold_tokens", "prefill_instances", "decode_instances", "replications", "seed")
    assert [float(form[name].value()) for name in numbers] == [20_000, 25_000, 4, 4, 2, 3]
    assert form["prfaas_instances"].value() is None


def test_a_watch_of_several_links_asks_which(half_hour, operator):
    Watch.objects.update(links=["wan", "spare"])
    assert "spare" in text(operator.get(PAGE, {"start": START, "end": END}))
    page = operator.post(PAGE, ASKED | {"link": "spare"}).content.decode()
    assert "was not measured; known: wan" in page.split('id="link-error"')[1].split("</p>")[0]


# --- its answer --------------------------------------------------------------------------------------------------


def test_the_page_of_its_job_has_a_table_behind_what_it_draws_and_the_file_has_the_same(half_hour, operator):
    operator.post(PAGE, ASKED)
    job = Job.objects.get()
    result = brown_out.ran(job)
    Job.objects.update(state=Job.State.SUCCEEDED, result=result)
    page = text(operator.get(f"/jobs/{job.pk}/"))
    for name in ("tried", "flows", "compared"):
        assert f'data-table="{name}"' in page
    assert '<tr data-row="As it was" class="strong">' in page
    assert "As it was, simulated against measured TTFT: P50" in page
    assert "<dt>Decode</dt><dd>by request</dd>" in page
    assert 'data-chart="replay-course"' in page
    lines = operator.get(f"/jobs/{job.pk}/result.csv").content.decode().splitlines()
    assert [line.partition(",")[0] for line in lines] == [
        "run", "measured; low and high are of the bucket", "As it was", '"Bandwidth-aware',
    ]  # fmt: skip
    assert float(lines[2].split(",")[5]) == result["runs"][0]["ttft_s"]["p50"]["mean"]


def told(value, low=None, high=None):
    return {"mean": value, "low": low, "high": high}


def run(title, p50, p90, share=None, *, clear=True):
    """A run whose P99 is twice its P90."""
    times = {"p50": told(p50), "p90": told(p90), "p99": told(2 * p90)}
    found = {name: {"mean": -1.0, "share": share, "is_clear": clear} for name in ("ttft_p90_s", "ttft_p99_s")}
    higher = {"ttft_p50_s": {"mean": p50 - 2.0, "share": p50 / 2 - 1, "is_clear": clear}}
    return {"title": title, "ttft_s": times, "differences": None if share is None else found | higher}


def test_the_headline_names_the_best_policy_and_what_it_costs():
    runs = [run("As it was", 2.0, 10.0), run("A", 3.0, 6.0, -0.4), run("B", 2.0, 8.0, -0.2)]
    assert answers.headline({"runs": runs}) == (
        "A: P90 TTFT would have been 6.00 s instead of 10.00 s, 40.0 % less. But P50 50.0 % more."
    )
    chance = [runs[0], run("A", 3.0, 6.0, -0.4, clear=False)]
    assert answers.headline({"runs": chance}) == (
        "None of what was tried has a clearly lower P90 TTFT than there was, 10.00 s."
    )


def bucket(value, low, high):
    return {"value": value, "low": low, "high": high}


MEASURED = {
    "ttft_s": {"all": {"p50": bucket(2.0, 1.0, 3.0), "p90": bucket(20.0, 15.0, 30.0), "p99": bucket(None, 60.0, None)}},
    "offload_fraction": 0.5, "egress_bps": None, "waiting": {"mean": 4.0},
}  # fmt: skip
BASE = run("As it was", 2.5, 10.0) | {"offload_fraction": told(0.4), "bands": {"waiting": {"mean": [1.0, 3.0]}}}


def test_how_far_the_simulation_is_from_what_was_measured_is_told_by_quantity():
    found = {each["quantity"]: each for each in calibration(MEASURED, BASE)}
    assert {name: (each["difference"], each["is_within"]) for name, each in found.items()} == {
        "ttft_p50_s": (0.25, True), "ttft_p90_s": (-0.5, False), "ttft_p99_s": (None, False),
        "offload_fraction": (pytest.approx(-0.2), None), "waiting": (-0.5, None),
    }  # fmt: skip
    assert calibration({}, BASE) == []


def test_a_gain_that_is_smaller_than_the_simulation_is_off_by_is_only_a_direction():
    off = calibration(MEASURED, BASE)  # P90: by half
    assert "take it as a direction" in answers.caution(off, [BASE, run("A", 2.0, 6.0, -0.4)])
    assert answers.caution(off, [BASE, run("A", 2.0, 4.0, -0.6)]) == ""
    assert answers.model(off) == (
        "As it was, simulated against measured TTFT: P50 +25.0 %, P90 −50.0 %, P99 20.00 s against more than 60.00 s; "
        "P90 and P99 outside the measured bucket."
    )
    assert "nothing says how good" in answers.model([])
