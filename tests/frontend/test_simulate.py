"""Simulations as a form, and their results, as the server sends the pages."""

import json
import re
from functools import cache
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.timezone import now

from planner import evaluation, scenario, store, tasks
from planner.models import Job
from tests.frontend.test_optimiser import beside, data, drawn, headline, page_of, summary, text

pytestmark = pytest.mark.django_db
CASE, ALONE = "case-study-prfaas-pd", "case-study-homogeneous"
TYPED = {
    "scenario": CASE, "of": CASE, "form": "exact", "load_of": "share", "load": "70", "rate": "", "policy": "as_given",
    "order": "fcfs", "chunks": "16", "connection": "", "brown_from": "", "brown_to": "", "brown_bps": "",
    "requests": "4000", "replications": "2", "seed": "1", "warm_up": "5",
}  # fmt: skip
NUMBER = r"(-?[\d,]+\.\d+)"
INTERVAL = re.compile(rf"{NUMBER} \[{NUMBER}, {NUMBER}\]")


@pytest.fixture
def planner(shipped, client):
    client.force_login(User.objects.create_user("ada"))
    return client


def ask(client, **changes):
    return client.post("/simulate/", {**TYPED, **changes})


def asked(client, **changes):
    """The job that the form makes."""
    answer = ask(client, **changes)
    assert answer.status_code == 302, summary(answer.content.decode())
    return Job.objects.get(pk=answer.headers["Location"].split("/")[2])


def simulation(client, **changes):
    return asked(client, **changes).input["simulation"]


@cache
def _replication(text_of_input):
    given = json.loads(text_of_input)
    kind = tasks.KINDS["replication"]
    part = kind.problem(given)
    outcome = kind.function(part, lambda done, total, message: None)
    return json.dumps(kind.result(given, part, outcome), allow_nan=False)


def run(job, first=None):
    """Its replications as workers leave them, all or the `first` so many; the result of these."""
    cut = tasks.IN_PARTS[job.kind]
    for at, given in enumerate(cut.parts(job.input)):
        is_ended = first is None or at < first
        found = json.loads(_replication(json.dumps(given))) if is_ended else None
        Job.objects.create(
            kind=cut.part, scenario=job.scenario, form=job.form, input=given, version=job.version, parent=job,
            shard=at, state="succeeded" if is_ended else "queued", result=found,
        )  # fmt: skip
    parts = [part.result for part in job.shards.filter(state="succeeded").order_by("shard")]
    return json.loads(json.dumps(cut.merge(job.input, parts), allow_nan=False))


def computed(client, **changes):
    job = asked(client, **changes)
    job.result = run(job)
    job.state, job.started_at, job.finished_at = "succeeded", now(), now()
    job.save()
    return job


def row(page, table, label):
    """The cells of a row of a table, as text without their marks."""
    part = page.split(f'data-table="{table}"')[1].split("</table>")[0]
    cells = part.split(f'data-row="{label}"')[1].split("</tr>")[0].split("<td")[1:]
    return [text("<td" + cell.split("<abbr")[0]) for cell in cells]


def partings(page):
    return text(page.split("data-partings>")[1].split("</ul>")[0])


# --- the form ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["/case-study/", f"/scenarios/{CASE}/"])
def test_scenario_and_case_study_lead_to_the_simulator(planner, address):
    page = planner.get(address).content.decode()
    assert f'href="/simulate/?scenario={CASE}">Simulate</a>' in page
    assert page.index(">Optimiser</a>") < page.index('href="/simulate/"')


@pytest.mark.parametrize(
    ("field", "unit", "said"),
    [
        ("load", "%", "Of Λmax, exact form, which is 3.122 req/s."),
        ("rate", "req/s", "Mean rate of arrivals"),
        ("chunks", "chunks", "1 sends all of it after the prefill"),
        ("connection", "Gbps", "Empty: as much as the link has"),
        ("brown_from", "s", "Since the beginning"),
        ("brown_to", "s", "After it begins"),
        ("brown_bps", "Gbps", "Empty: nothing"),
        ("requests", "requests", "Of each replication"),
        ("replications", "times", "95 % intervals"),
        ("seed", "", "bit for bit"),
        ("warm_up", "%", "that is not counted"),
    ],
)
@pytest.mark.once
def test_a_field_has_its_unit_and_is_explained(planner, field, unit, said):
    shown = drawn(planner.get(f"/simulate/?scenario={CASE}").content.decode(), field)
    assert f'<span class="unit">{unit}</span>' in shown or not unit
    assert said in text(shown)
    assert f'aria-describedby="{field}-error {field}-help"' in shown


def test_policies_and_orders_are_explained_in_a_line_each(planner):
    page = text(planner.get("/simulate/").content.decode())
    for said in (
        "As givenThe scenario's own routing", "All localNothing is offloaded", "All remoteEvery request is",
        "Bandwidth-awaret is raised", "First come, first servedWho has waited", "Shortest firstWhose prefill",
    ):  # fmt: skip
        assert said in page


def test_without_prfaas_nothing_is_asked_of_routing_and_link(planner):
    page = planner.get(f"/simulate/?scenario={ALONE}").content.decode()
    assert 'name="order"' in page
    for field in ("policy", "chunks", "connection", "brown_from"):
        assert f'name="{field}"' not in page
    assert simulation(planner, scenario=ALONE, of=ALONE)["scenario"]["name"] == ALONE


def test_the_form_makes_the_simulation_that_was_typed(planner):
    found = simulation(
        planner, load_of="rate", rate="2.5", policy="bandwidth_aware", order="shortest", chunks="1", connection="10",
        brown_from="100", brown_to="400.5", brown_bps="6", within="7.5", requests="5000", replications="3", seed="7",
        warm_up="10",
    )  # fmt: skip
    assert found.pop("scenario")["name"] == CASE
    assert found == {
        "rate_rps": 2.5, "policy": "bandwidth_aware", "order": "shortest", "chunks": 1, "connection_bps": 1e10,
        "brown_out": {"begin_s": 100.0, "end_s": 400.5, "bps": 6e9}, "requests": 5000, "replications": 3, "seed": 7,
        "warm_up": 0.1, "ttft_within_s": 7.5,
    }  # fmt: skip


def test_what_is_left_empty_is_not_there(planner):
    found = simulation(planner, warm_up="")
    assert found["load"] == 0.7
    assert not {"rate_rps", "connection_bps", "brown_out", "warm_up", "ttft_within_s"} & found.keys()


def test_numbers_may_be_typed_as_pages_write_them(planner):
    found = simulation(planner, requests="4,000", load_of="rate", rate="1,000.5")
    assert (found["requests"], found["rate_rps"]) == (4000, 1000.5)


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"load": ""}, "load", "Type the load"),
        ({"load": "much"}, "load", "Enter a number."),
        ({"load": "0"}, "load", "must be greater than 0"),
        ({"load": "2000"}, "load", "less than or equal to 1000"),
        ({"load_of": "rate"}, "rate", "Type the rate"),
        ({"load_of": "rate", "rate": "0"}, "rate", "must be at least"),
        ({"policy": "random"}, "policy", "Select a valid choice"),
        ({"order": ""}, "order", "This field is required"),
        ({"chunks": "0"}, "chunks", "greater than or equal to 1"),
        ({"chunks": ""}, "chunks", "Type a whole number."),
        ({"connection": "0"}, "connection", "must be at least"),
        ({"brown_from": "5"}, "brown_to", "When does it end?"),
        ({"brown_bps": "5"}, "brown_from", "When does it begin?"),
        ({"brown_from": "50", "brown_to": "5"}, "brown_to", "must be after 50 s"),
        ({"brown_from": "5000", "brown_to": "6000"}, "brown_from", "a replication lasts about 1,830 s"),
        ({"requests": "10"}, "requests", "greater than or equal to 100"),
        ({"requests": "many"}, "requests", "Enter a whole number."),
        ({"requests": "4,00"}, "requests", "Enter a whole number."),
        ({"load": "0.00001"}, "load", "is too low, 3.12e-07 req/s: give 0.0001 req/s or more"),
        ({"replications": "0"}, "replications", "greater than or equal to 1"),
        ({"replications": ""}, "replications", "Type a whole number."),
        ({"seed": "-1"}, "seed", "greater than or equal to 0"),
        ({"warm_up": "100"}, "warm_up", "less than or equal to 99"),
    ],
)
@pytest.mark.once
def test_a_mistake_is_told_beside_its_field_and_in_the_summary(planner, changes, field, said):
    answer = ask(planner, **changes)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert said in beside(page, field)
    assert said in summary(page)
    assert re.search(f'href="#{field}(_0)?"', page)
    assert not Job.objects.exists()


def test_what_was_typed_is_kept(planner):
    page = ask(planner, load="lots", brown_from="77", policy="all_remote", seed="9").content.decode()
    assert 'value="lots"' in drawn(page, "load")
    assert 'value="77"' in drawn(page, "brown_from")
    assert 'value="9"' in drawn(page, "seed")
    checked = [re.search('value="(.*?)"', each)[1] for each in re.findall("<input[^>]*checked[^>]*>", page)]
    assert checked == ["share", "all_remote", "fcfs"]


def test_another_scenario_is_shown_before_anything_is_simulated(planner):
    page = ask(planner, scenario=ALONE, load="33").content.decode()
    assert not Job.objects.exists()
    assert summary(page) == ""
    assert 'value="33"' in drawn(page, "load")
    assert f'name="of" value="{ALONE}"' in page


def test_an_unknown_scenario_is_not_found(planner):
    answer = planner.get("/simulate/?scenario=none-such")
    assert (answer.status_code, "known: case-study" in answer.content.decode()) == (404, True)


def test_without_any_scenario_the_page_says_what_to_do(nothing_stored, client):
    assert "Put one together" in client.get("/simulate/").content.decode()


def test_who_signs_in_on_the_way_comes_back_to_what_was_typed(shipped, client):
    answer = ask(client, load_of="rate", rate="2.25", policy="all_local", replications="9")
    back = parse_qs(urlsplit(answer.headers["Location"]).query)["next"][0]
    page = client.get(back).content.decode()
    assert 'value="2.25"' in drawn(page, "rate")
    assert 'value="9"' in drawn(page, "replications")
    checked = [re.search('value="(.*?)"', each)[1] for each in re.findall("<input[^>]*checked[^>]*>", page)]
    assert checked == ["rate", "all_local", "fcfs", "once"]
    assert not Job.objects.exists()


# --- while it runs -----------------------------------------------------------------------------------------------


def test_a_running_simulation_counts_requests_and_says_what_has_ended(planner):
    job = asked(planner)
    job.state, job.started_at = "running", now()
    job.save()
    page = page_of(planner, job)
    assert "requests/s" in text(page)
    address = f"/jobs/{job.pk}/replications.json"
    assert f'data-replications="{address}"' in page
    assert planner.get(address).json() == {"ended": 0, "parts": 0, "headline": "", "chart": None}
    assert ('data-chart="ttft"' in page, 'data-chart="over-time"' in page) == (True, True)
    run(job, first=1)
    found = planner.get(address).json()
    assert (found["ended"], found["parts"]) == (1, 2)
    assert re.fullmatch(
        r"At 2\.186 req/s, 70 % of capacity, P90 TTFT is \d+\.\d\d s; unloaded it would be 3\.51 s\.", found["headline"]
    )
    assert found["chart"]["ttft"]["p90"]["low"] is None
    run_of = found["chart"]["series"]
    assert len(run_of["egress_bps"]) == len(run_of["decode_instances"]) > 100


# --- results -----------------------------------------------------------------------------------------------------


def test_the_headline_is_p90_with_its_interval_beside_the_unloaded(planner):
    job = computed(planner)
    mean, low, high = (f"{job.result['ttft_s']['p90'][name]:.2f}" for name in ("mean", "low", "high"))
    unloaded = evaluation.evaluate(scenario.load(CASE))["ttft_unloaded_s"]["p90"]
    assert headline(page_of(planner, job)) == (
        f"At 2.186 req/s, 70 % of capacity, P90 TTFT is {mean} s [{low}, {high}]; "
        f"unloaded it would be {unloaded:.2f} s."
    )


def test_ttft_stands_by_route_beside_unloaded_and_approximation(planner):
    page = page_of(planner, computed(planner))
    for label in ("mean", "P50", "P90", "P99"):
        everyone, local, remote, unloaded, approximate = row(page, "ttft", label)
        means = [float(INTERVAL.fullmatch(cell)[1]) for cell in (everyone, local, remote)]
        assert min(means[1:]) <= means[0] <= max(means[1:])
        assert float(unloaded) < means[0]
        assert float(approximate) == pytest.approx(means[0], rel=0.15)
    assert '<span class="unit">s, approximation</span>' in page


def test_the_approximation_is_silent_where_it_knows_nothing_of_what_was_simulated(planner):
    page = page_of(planner, computed(planner, order="shortest"))
    assert row(page, "ttft", "P90")[-1] == "–"
    assert data(page, "job-simulation")["approximation"] is None


def test_utilisation_stands_beside_what_the_formulas_say(planner):
    page = page_of(planner, computed(planner))
    stages = evaluation.evaluate(scenario.load(CASE))["stages"]
    rate = 0.7 * evaluation.evaluate(scenario.load(CASE))["lambda_max_rps"]
    for stage, label in (("prfaas", "PrfaaS compute"), ("link", "Link"), ("pd_p", "PD-P"), ("pd_d", "PD-D")):
        simulated, formula, wait, _, what = row(page, "stages", label)
        assert formula == f"{100 * rate / stages[stage]['lambda_rps']:.1f}"
        assert float(INTERVAL.fullmatch(simulated)[1]) == pytest.approx(float(formula), rel=0.1)
        assert INTERVAL.fullmatch(wait)
        assert ("tail of the transfer" in what) == (stage == "link")


def test_flows_stand_beside_the_steady_state_with_a_sentence_where_they_part(planner):
    page = page_of(planner, computed(planner))
    assert row(page, "flows", "Offloaded requests, p")[2] == "49.6"
    assert float(INTERVAL.fullmatch(row(page, "flows", "Egress")[1])[1]) > 5
    said = partings(page)
    assert re.search(r"P90 TTFT is \d\.\d\d times the unloaded one", said)
    assert "for a PrfaaS instance" in said
    assert "of the formulas" in said or "what the formulas say" in said


def test_a_policy_is_named_as_the_reason_why_they_part(planner):
    said = partings(page_of(planner, computed(planner, policy="all_remote", load="30")))
    assert "The offloaded share, 100.0 %, is above the 49.6 % of the formulas: the policy prefills everything" in said


def test_a_policy_that_carries_more_than_lambda_max_is_told_of(planner):
    narrow = scenario.load(CASE, {"links.wan.bandwidth_bps": 6e9}).document() | {"name": "narrow"}
    store.create("scenarios", narrow)
    changes = {"scenario": "narrow", "of": "narrow", "load_of": "rate", "rate": "1.8", "requests": "20000"}
    page = page_of(planner, computed(planner, policy="bandwidth_aware", **changes))
    assert "More is carried than Λ_max, 1.560 req/s" in partings(page)
    assert "the bandwidth-aware policy raised t from 19,400 up to" in partings(page)


def test_where_everything_stays_local_there_is_no_threshold(planner):
    page = page_of(planner, computed(planner, policy="all_local", load="20"))
    assert set(data(page, "job-simulation")["series"]["threshold_tokens"]) == {None}
    assert "the policy prefills everything locally" in partings(page)


@pytest.mark.parametrize("address", ["/simulate/", "/optimiser/equal_cost/"])
def test_the_token_goes_along_with_what_is_asked_and_is_in_no_address(shipped, address):
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(User.objects.create_user("ada"))
    page = careful.get(address).content.decode()
    form = page.split("data-question-form")[1].split("</form>")[0]
    # The first button is what Enter presses.
    button = re.match('<button[^>]*name="csrfmiddlewaretoken" value="(.*?)"', form[form.index("<button") :])
    assert "formmethod" not in button[0]
    assert form.count("csrfmiddlewaretoken") == len(re.findall('<button[^>]*name="csrfmiddlewaretoken"', form))
    assert careful.post(address, {"of": CASE}).status_code == 403
    assert careful.post(address, {"of": CASE, "csrfmiddlewaretoken": button[1]}).status_code == 200


def test_before_anything_has_ended_there_is_one_line_and_no_chart(planner):
    job = asked(planner)
    job.state, job.started_at = "running", now()
    job.save()
    page = page_of(planner, job)
    assert "No replication has ended yet: what they say appears here as soon as one has." in page
    assert re.search("<div[^>]*data-charts[^>]* hidden>", page)


def test_a_brown_out_is_named_and_drawn(planner):
    page = page_of(planner, computed(planner, brown_from="300", brown_to="900", brown_bps="6"))
    assert "the link carried 6.00 Gbps for 600 s" in partings(page) or "what the formulas say" in partings(page)
    capacity = data(page, "job-simulation")["capacity"]
    bps = dict(zip(capacity["seconds"], capacity["bps"], strict=True))
    assert {at for at, carried in bps.items() if carried == pytest.approx(6e9)} == set(range(300, 900, 10))
    assert max(bps.values()) == pytest.approx(1e11)
    assert "6.00 Gbps from 300 to 900 s" in text(page)


def test_an_unstable_load_says_so_first_and_has_no_ttft(planner):
    page = page_of(planner, computed(planner, load="130"))
    assert re.match(r"Not stable: at 4\.059 req/s, 130 % of capacity, 0\.\d+ \[.*\] requests more", headline(page))
    assert 'class="head alert-box" role="alert"' in page
    assert text(page).count("Not stable") == 1
    assert "There is no TTFT then" in page
    assert 'data-table="ttft"' not in page
    assert 'data-chart="ttft"' not in page
    assert 'data-panel="in-system"' in page
    assert "requests pile up" in partings(page)


@pytest.mark.parametrize("seed", ["1", "2", "3"])
@pytest.mark.once
def test_growth_by_chance_in_a_short_run_is_not_called_unstable(planner, seed):
    page = page_of(planner, computed(planner, load="85", requests="400", replications="1", seed=seed))
    assert headline(page).startswith("At 2.654 req/s, 85 % of capacity, P90 TTFT is")
    assert 'data-table="ttft"' in page


def test_who_keeps_a_promise_stands_in_the_headline_and_the_table(planner):
    page = page_of(planner, computed(planner, within="7.5"))
    assert re.search(r" 9\d\.\d+ % \[.*\] of requests have their first token within 7\.5 s\.$", headline(page))
    assert re.match(r"9\d\.\d", row(page, "flows", "Promise kept")[1])
    assert re.match(r"[12]\.\d+ \[", row(page, "flows", "Goodput")[1])
    assert "Promise kept" not in page_of(planner, computed(planner))


def test_one_replication_alone_has_no_interval(planner):
    page = page_of(planner, computed(planner, replications="1"))
    assert "[" not in headline(page)
    assert "One replication alone has no confidence interval." in page
    assert not INTERVAL.search(row(page, "ttft", "P90")[0])


def test_without_prfaas_one_route_is_shown(planner):
    page = page_of(planner, computed(planner, scenario=ALONE, of=ALONE))
    assert len(row(page, "ttft", "P90")) == 4
    assert 'data-row="Link"' not in page
    assert data(page, "job-simulation")["has_link"] is False


def test_charts_have_their_numbers_and_their_tools(planner):
    page = page_of(planner, computed(planner))
    shown = data(page, "job-simulation")
    for name in ("ttft", "over-time"):
        assert f'data-chart="{name}"' in page
    assert page.count('data-save="svg"') == 2
    assert re.findall('data-panel="(.*?)"', page) == ["egress", "threshold", "in-system", "instances", "resent"]
    assert len({len(shown["series"][name]) for name in shown["series"] if name != "bin_s"}) == 1
    assert shown["capacity"] == {"seconds": [0.0], "bps": [1e11]}
    assert shown["provenance"]["kind"] in ("measured", "published", "inferred", "estimated", "user")


def test_what_was_simulated_is_said(planner):
    facts = text(page_of(planner, computed(planner)).split("data-facts>")[1].split("</dl>")[0])
    for said in ("Counted requests7,600", "Replications2 of 4,000 requests", "Seed1", "ArrivalsPoisson", "16 chunks"):
        assert said in facts


def test_it_can_be_asked_again_and_taken_away(planner):
    job = computed(planner, load_of="rate", rate="2.25", brown_from="50", brown_to="90.5", policy="bandwidth_aware")
    page = page_of(planner, job)
    assert f'href="/jobs/{job.pk}/result.json"' in page
    again = planner.get(re.search('href="([^"]*)">Ask again<', page)[1].replace("&amp;", "&")).content.decode()
    assert 'value="2.25"' in drawn(again, "rate")
    assert 'value="90.5"' in drawn(again, "brown_to")
    assert 'value="4000"' in drawn(again, "requests")
    assert re.search('<input[^>]*value="bandwidth_aware"[^>]*checked', again)


def test_a_replications_own_page_opens(planner):
    job = computed(planner)
    assert "One replication of a simulation" in page_of(planner, job.shards.first())
