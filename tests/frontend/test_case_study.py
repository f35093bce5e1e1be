"""The case study page as the server sends it: readable without scripts, and nothing inline for a script to be."""

import json
import re
from html.parser import HTMLParser

import pytest

pytestmark = pytest.mark.django_db


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def row(page, form, label):
    """The texts of a row's cells in the table of one form, without marks."""
    table = page.split(f'data-form-view="{form}"')[1].split("</table>")[0]
    cells = table.split(f'data-row="{label}"')[1].split("</tr>")[0]
    cells = re.sub(r"<abbr.*?</abbr>", "", cells)
    return [re.sub(r"<.*?>", "", cell).strip() for cell in re.findall(r"<td.*?</td>", cells, re.S)]


@pytest.fixture
def page(client):
    response = client.get("/case-study/")
    assert response.status_code == 200
    return response.content.decode()


def test_the_root_leads_to_the_case_study(client):
    assert client.get("/").headers["Location"] == "/case-study/"


@pytest.mark.parametrize(
    ("form", "label", "expected"),
    [
        # ours, published, difference; PrfaaS-PD, homogeneous, naive: published from table 6 of the paper
        ("paper", "Λ_max", ["req/s", "3.186", "3.24", "−1.7", "2.110", "2.11", "0.0", "2.449", "2.45", "−0.1"]),
        ("paper", "Θ_prfaas", ["req/s", "1.579", "1.61", "−1.9", "–", "–", "–", "2.449", "2.45", "−0.1"]),
        ("paper", "Θ_pd-p", ["req/s", "1.640", "1.64", "0.0", "2.110", "2.11", "0.0", "–", "–", "–"]),
        ("exact", "TTFT, P90, unloaded", ["s", "3.51", "3.51", "+0.1", "9.73", "9.73", "0.0", "3.51", "3.51", "+0.1"]),
        ("exact", "Threshold t", ["tokens", "19,400", "19,400", "given", "–", "–", "–", "–", "–", "–"]),
    ],
)
def test_ours_stands_beside_the_published_value(page, form, label, expected):
    found = row(page, form, label)
    assert len(found) == len(expected)
    for text, wanted in zip(found, expected, strict=True):
        assert text == wanted


def test_unloaded_ttft_says_what_it_leaves_out(page):
    said = "no queueing, no time on the link"
    table = page.split('data-form-view="exact"')[1]
    for label in ("TTFT, mean, unloaded", "TTFT, P90, unloaded"):
        assert said in table.split(f'data-row="{label}"')[1].split("</tr>")[0]
    assert said in page.split("TTFT unloaded, mean")[0].rsplit("<tr", 1)[1]
    assert page.count(f"Unloaded TTFT is prefill alone: {said}") == 3  # the panel, and the table in both forms


def test_the_form_is_chosen_by_the_address_without_scripts(client):
    page = client.get("/case-study/?form=paper").content.decode()
    assert re.search(r'data-form-view="exact"\s+hidden', page)
    assert not re.search(r'data-form-view="paper"\s+hidden', page)


def test_an_inferred_input_is_marked_with_its_source(page):
    assert 'data-kind="inferred"' in page
    assert "Not published. Solved from arXiv 2604.15039" in page


def test_nothing_is_inline_that_the_security_policy_would_block(page):
    for tag, attributes in Tags(page).tags:
        assert not [name for name in attributes if name.startswith("on")]
        if tag == "script" and attributes.get("type") != "application/json":
            assert attributes["src"].startswith("/static/")


def test_everything_loaded_comes_from_this_host(page):
    for tag, attributes in Tags(page).tags:
        if tag in {"script", "link", "img"}:
            assert attributes.get("src", attributes.get("href", "/")).startswith("/")


def test_every_input_has_a_label(page):
    tags = Tags(page).tags
    labelled = {attributes["for"] for tag, attributes in tags if tag == "label" and "for" in attributes}
    for tag, attributes in tags:
        if tag in {"input", "select"} and attributes.get("type") not in {"hidden", "radio"}:
            assert attributes.get("aria-label") or attributes["id"] in labelled


def test_addresses_follow_a_prefix(client, under_a_prefix):
    page = client.get("/case-study/").content.decode()
    for place in ("/planner/api/v1/whatif/", "/planner/jobs/", "/planner/login/"):
        assert f'"{place}' in page


def test_the_what_if_panel_knows_where_its_fields_are(page):
    data = json.loads(page.split('id="whatif-data" type="application/json">')[1].split("</script>")[0])
    prfaas_pd, homogeneous, naive = data["scenarios"]
    assert prfaas_pd["threshold"]["path"] == "routing.threshold_tokens"
    assert prfaas_pd["bandwidth"] == {"path": "links.wan.bandwidth_bps", "value": 100e9}
    assert homogeneous["threshold"] is None
    assert homogeneous["bandwidth"] is None
    assert naive["threshold"] is None


def test_an_empty_list_of_jobs_says_what_to_do(page):
    assert "No job yet" in page


def test_a_visitor_is_offered_to_sign_in_and_a_user_to_sign_out(client, django_user_model):
    assert "/login/?next=/case-study/" in client.get("/case-study/").content.decode()
    client.force_login(django_user_model.objects.create_user("planner"))
    assert "Sign out planner" in client.get("/case-study/").content.decode()


def test_the_sign_in_page_says_what_an_account_is_for(client):
    page = client.get("/login/").content.decode()
    assert "Changing the catalogue, importing, storing scenarios, and starting or cancelling jobs do." in page


def test_a_wrong_password_is_said_and_the_name_is_kept(client):
    page = client.post("/login/", {"username": "planner", "password": "wrong"}).content.decode()
    assert 'role="alert"' in page
    assert 'value="planner"' in page


def test_large_clusters_egress_stands_with_its_model(page):
    table = page.split('data-table="bandwidth"')[1].split("</table>")[0]
    cells = re.findall(r"<td.*?</td>", table.split("Ring-2.5-1T")[1].split("</tr>")[0], re.S)
    assert [re.sub(r"<abbr.*?</abbr>|<.*?>", "", cell) for cell in cells] == [
        "Lightning:MLA 7:1", "166", "93.4", "1,820",
    ]  # fmt: skip


def test_the_inputs_are_those_of_the_scenario(page):
    assert "Link: 100 Gbps" in page
    assert "log-normal, μ 9.9, σ 1.0, on [128, 131,072] tokens" in page
    assert "BS_max 20 requests" in re.sub(r"<.*?>", "", page).replace("BSmax", "BS_max")
