"""The pages of what is scraped, as the server sends them."""

import pytest
from django.contrib.auth.models import User

from monitoring.models import Pull, Source, Target
from tests.monitoring.exporters import Page, serving

pytestmark = pytest.mark.django_db
NODE = {"name": "node", "url": "http://10.0.0.1:9100/metrics", "interval_s": "5", "enabled": "on", "role": "prefill"}


@pytest.fixture
def planner(client):
    client.force_login(User.objects.create_user("ada"))
    return client


def text(answer):
    return answer.content.decode()


def test_a_target_is_made_listed_changed_and_removed(planner):
    answer = planner.post("/live/targets/new/", NODE)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/live/targets/")
    target = Target.objects.get()
    assert (target.timeout_s, target.source.labels, target.source.enabled) == (4.0, {"role": "prefill"}, True)
    assert "http://10.0.0.1:9100/metrics" in text(planner.get("/live/targets/"))

    assert 'value="http://10.0.0.1:9100/metrics"' in text(planner.get("/live/targets/node/"))
    planner.post("/live/targets/node/", NODE | {"interval_s": "30", "timeout_s": "9", "enabled": ""})
    target.refresh_from_db()
    assert (target.interval_s, target.timeout_s, target.source.enabled) == (30, 9, False)

    assert "Remove node?" in text(planner.get("/live/targets/node/remove/"))
    assert Source.objects.exists()
    planner.post("/live/targets/node/remove/")
    assert not Source.objects.exists()


def test_a_server_of_queries_is_made_from_a_list(planner):
    queries = '[{"query": "sum(x)", "signal": "link_egress_bits", "scale": 8}]'
    answer = planner.post("/live/pulls/new/", NODE | {"url": "http://10.0.0.2:9090", "queries": queries})
    assert answer.status_code == 302, text(answer)
    assert Pull.objects.get().queries == [{"query": "sum(x)", "signal": "link_egress_bits", "scale": 8}]
    assert "sum(x)" in text(planner.get("/live/pulls/node/"))


@pytest.mark.parametrize(
    ("address", "changes", "said"),
    [
        ("targets", {"url": "ftp://x"}, "must begin with http:// or https://"),
        ("targets", {"interval_s": "0.1"}, "must be from 1 to 300 s"),
        ("targets", {"role": "cook"}, "Select a valid choice"),
        ("pulls", {"queries": '[{"query": "x", "signal": "speed"}]'}, "0.signal: must be one of link_egress_bits"),
        ("pulls", {"queries": "[{"}, "Enter a valid JSON"),
    ],
)
def test_mistakes_lead_to_their_fields_and_nothing_is_stored(planner, address, changes, said):
    queries = '[{"query": "x"}]'
    answer = planner.post(f"/live/{address}/new/", {**NODE, "queries": queries, **changes})
    assert answer.status_code == 200
    assert said in text(answer)
    assert f'href="#{next(iter(changes))}"' in text(answer)
    assert not Source.objects.exists()


def test_a_test_shows_what_would_become_of_the_answer(planner):
    with serving(metrics=Page("# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\n")) as server:
        planner.post("/live/targets/new/", NODE | {"url": server.url()})
        shown = text(planner.post("/live/targets/node/test/"))
    assert "running_requests" in shown
    assert "<td>3.0<" in shown


def test_a_test_shows_what_is_wrong(planner):
    with serving(metrics=Page("oh no", 500)) as server:
        planner.post("/live/targets/new/", NODE | {"url": server.url()})
        shown = text(planner.post("/live/targets/node/test/"))
    assert "Nothing could be read." in shown
    assert "answers 500 Internal Server Error" in shown


def test_who_is_not_signed_in_sees_the_list_and_is_led_to_sign_in(client):
    Target.objects.create(source=Source.objects.create(name="node"), url="http://10.0.0.1/metrics", up=False)
    shown = text(client.get("/live/targets/"))
    assert ">down<" in shown
    assert "Test now" not in shown
    for address in ("/live/targets/new/", "/live/targets/node/", "/live/targets/node/remove/"):
        assert client.get(address).headers["Location"].startswith("/login/?next=")
    assert client.post("/live/targets/node/test/").headers["Location"].startswith("/login/?next=")


def test_the_page_of_an_unknown_one_is_not_there(planner):
    assert planner.get("/live/targets/nobody/").status_code == 404
    assert planner.get("/live/targets/nobody/test/").status_code == 405
