"""The catalogue's pages as the server sends them: lists, details, forms, history, and who may change what."""

import csv
import io
import json
import re

import pytest

from planner import seeding, store
from planner.catalog import files
from planner.entries import KINDS
from planner.models import Entry, Revision

pytestmark = pytest.mark.django_db
CHIP = {
    "name": "x1", "title": "Chip X1", "vendor": "Acme", "memory_bytes": 8e10, "tdp_w": 700.0,
    "dense_flops": {"bf16": 9.89e14, "fp8": 1.979e15},
    "provenance": {"dense_flops": {"kind": "published", "source": "Acme's data sheet"}},
}  # fmt: skip
MODEL = {
    "name": "m1", "title": "Model M1", "total_parameters": 7e10,
    "layers": [{"kind": "attention", "layers": 80, "kv_heads": 8, "key_dim": 128, "value_dim": 128}],
    "measured": {"tokens": [1024, 131072], "bytes": [335544320, 42949672960], "interpolation": "log_log"},
}  # fmt: skip
PROFILE = {
    "name": "p1", "title": "M1 on 8 × X1", "model": "m1", "hardware": "x1", "gpus_per_instance": 8, "engine": "E 1.0",
    "prefill": {"tokens": [1024, 8192, 32768], "seconds": [0.1, 0.8, 4.0]},
    "decode": [{"batch": 1, "context_tokens": 1024, "seconds": 0.01},
               {"batch": 8, "context_tokens": 1024, "seconds": 0.02},
               {"batch": 8, "context_tokens": 32768, "seconds": 0.04}],
    "provenance": {"prefill": {"kind": "measured", "source": "our lab"}},
}  # fmt: skip
TRAFFIC = {
    "name": "t1",
    "input_tokens": {"distribution": "empirical", "samples": [1000, 2000, 6000]},
    "output_tokens": 512,
}
LINK = {"name": "l1", "title": "Line", "bandwidth_bps": 1e11, "rtt_s": 0.03, "price": {"usd_per_gb": 0.02}}
OFFER = {"name": "o1", "hardware": "x1", "date": "2026-11-01", "kind": "on_demand", "usd_per_gpu_hour": 3.5}
MEASURED = {
    "name": "r1", "title": "Runs R1", "model": "m1", "hardware": "x1", "gpus_per_instance": 8, "date": "2026-11-01",
    "rows": [{"input_tokens": 1024, "concurrency": 1, "ttft_mean_s": 0.11, "tpot_s": 0.011}],
    "provenance": {"rows": {"kind": "measured", "source": "our lab"}},
}  # fmt: skip
ALL = {
    "hardware": CHIP, "models": MODEL, "profiles": PROFILE, "traffic": TRAFFIC, "links": LINK, "prices": OFFER,
    "measurements": MEASURED,
}  # fmt: skip


@pytest.fixture
def stored():
    return {kind: store.create(kind, document) for kind, document in ALL.items()}


@pytest.fixture
def writer(client, django_user_model):
    """A browser whose user is signed in; no password, which would take a second to make."""
    client.force_login(django_user_model.objects.create(username="admin"))
    return client


def page_of(client, address, status=200):
    response = client.get(address)
    assert response.status_code == status, response.content.decode()[:2000]
    return response.content.decode()


def rows_of(page):
    """Texts of a list's cells by entry, without marks."""
    found = {}
    for name, row in re.findall(r'<tr data-entry="([^"]+)">(.*?)</tr>', page, re.S):
        cells = re.sub(r"<abbr.*?</abbr>", "", row)
        found[name] = [re.sub(r"<.*?>", "", cell).strip() for cell in re.findall(r"<td.*?</td>", cells, re.S)]
    return found


# --- overview and lists ---


def test_the_overview_counts_every_kind_and_leads_on(client, stored, django_assert_max_num_queries):
    store.archive(stored["links"], revision=1)
    with django_assert_max_num_queries(3):
        page = page_of(client, "/catalogue/")
    for kind in KINDS:
        row = page.split(f'data-kind-row="{kind}"')[1].split("</tr>")[0]
        assert f'href="/catalogue/{kind}/"' in row
        assert f'href="/catalogue/{kind}/new/"' in row
        assert f"<td>{0 if kind == 'links' else 1}</td>" in row


def test_an_empty_catalogue_says_what_to_do(client):
    assert "Nothing is stored yet" in page_of(client, "/catalogue/")
    for kind in KINDS:
        assert f'href="/catalogue/{kind}/new/"' in page_of(client, f"/catalogue/{kind}/")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("hardware", ["Acme", "989", "1,979", "80.0", "–", "700", "–", "–"]),
        # 80 layers · 8 heads · 256 · 2 bytes = 320 KiB a token; 32,768 of them are 10,240 MiB
        ("models", ["70.0", "–", "320.0", "0.0", "10,240.0", "–", "bf16"]),
        # 32768 / 4 s; 10,240 MiB · 8 / 4 s = 21.47 Gbps
        ("profiles", ["m1", "8", "x1", "E 1.0", "4.000", "8,192", "21.47", "1K – 32K"]),
        ("traffic", ["empirical", "3,000", "2,000", "512", "poisson", "none", "–"]),
        ("links", ["100.0", "–", "30.0", "0.0200", "–"]),
        ("prices", ["x1", "–", "–", "on_demand", "3.500", "2026-11-01"]),
    ],
)
def test_a_list_shows_figures_in_the_units_of_its_headers(client, stored, kind, expected):
    assert next(iter(rows_of(page_of(client, f"/catalogue/{kind}/")).values())) == expected


def test_figures_of_a_list_carry_their_marks(client, stored):
    page = page_of(client, "/catalogue/hardware/")
    assert "published: Acme&#x27;s data sheet" in page
    assert 'data-kind="user"' in page  # no source was given for the memory


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_list_takes_no_more_questions_than_a_short_one(client, stored, kind, django_assert_num_queries):
    page_of(client, f"/catalogue/{kind}/")
    with django_assert_num_queries(expected_queries(kind)):
        page_of(client, f"/catalogue/{kind}/")
    for number in range(40):
        store.clone(stored[kind], f"copy-{number}")
    with django_assert_num_queries(expected_queries(kind)):
        page_of(client, f"/catalogue/{kind}/")


def expected_queries(kind):
    """How many, the entries, what was deleted, the choices of the filters, and of profiles their models."""
    return 3 + (kind not in ("traffic", "links")) + (kind == "profiles")


def test_a_list_is_cut_into_pages_that_keep_what_was_asked(client, stored):
    for number in range(30):
        store.clone(stored["hardware"], f"copy-{number:02}")
    first = page_of(client, "/catalogue/hardware/?search=copy&ordering=-name")
    assert len(rows_of(first)) == 25
    assert next(iter(rows_of(first))) == "copy-29"
    assert "?search=copy&amp;ordering=-name&amp;page=2" in first
    assert list(rows_of(page_of(client, "/catalogue/hardware/?search=copy&ordering=-name&page=2"))) == [
        f"copy-{number:02}" for number in (4, 3, 2, 1, 0)
    ]


def test_a_list_is_sorted_by_any_figure_with_what_is_missing_last(client, stored):
    store.create("hardware", {"name": "a", "memory_bytes": 1.41e11})
    store.create("hardware", {"name": "b"})
    page = page_of(client, "/catalogue/hardware/?ordering=-document.memory_bytes")
    assert list(rows_of(page)) == ["a", "x1", "b"]
    assert 'aria-sort="descending"' in page
    assert 'href="?ordering=document.memory_bytes"' in page
    page = page_of(client, "/catalogue/hardware/?ordering=document.memory_bytes")
    assert list(rows_of(page)) == ["x1", "a", "b"]


def test_a_list_is_narrowed_by_search_and_fields(client, stored):
    store.create("hardware", {"name": "y9", "vendor": "Other"})
    assert list(rows_of(page_of(client, "/catalogue/hardware/?vendor=Other&search="))) == ["y9"]
    assert list(rows_of(page_of(client, "/catalogue/hardware/?search=chip"))) == ["x1"]
    assert "No hardware is like that" in page_of(client, "/catalogue/hardware/?search=nothing")


def test_what_is_archived_is_shown_when_asked_for(client, stored):
    store.archive(stored["links"], revision=1)
    assert rows_of(page_of(client, "/catalogue/links/")) == {}
    assert list(rows_of(page_of(client, "/catalogue/links/?archived=yes"))) == ["l1"]


def test_a_question_that_cannot_be_asked_is_answered_in_words(client, stored):
    page = page_of(client, "/catalogue/hardware/?ordering=password", status=400)
    assert "This cannot be asked: ordering" in page
    page_of(client, "/catalogue/hardware/?colour=red", status=400)
    page_of(client, "/catalogue/nothing/", status=404)
    page_of(client, "/catalogue/hardware/nothing/", status=404)


def test_a_list_can_be_taken_away_as_csv_in_si_units(client, stored):
    store.create("hardware", {"name": "z", "title": "=1+1", "memory_bytes": 1e9})
    response = client.get("/catalogue/hardware/entries.csv?ordering=-name")
    lines = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert [line["name"] for line in lines] == ["z", "x1"]
    assert lines[0]["title"] == "'=1+1"
    assert float(lines[1]["dense_flops.bf16"]) == 9.89e14
    assert lines[1]["dense_flops.bf16.provenance"] == "published"


def test_the_whole_catalogue_can_be_taken_away(client, stored):
    yaml, text = (client.get(f"/catalogue/catalogue.{ending}").content.decode() for ending in ("yaml", "json"))
    assert files.parse(yaml) == json.loads(text)
    assert json.loads(text)["hardware"] == [CHIP]


# --- one entry ---


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_shows_every_field_its_sources_and_its_document(client, stored, kind):
    document = ALL[kind]
    page = page_of(client, f"/catalogue/{kind}/{document['name']}/")
    for field in set(document) - {"name", "title", "notes", "provenance"}:
        assert f'data-field="{field}' in page
    for ending in ("yaml", "json"):
        taken = client.get(f"/catalogue/{kind}/{document['name']}.{ending}")
        assert files.parse(taken.content.decode()) == document
        assert f'filename="{document["name"]}.{ending}"' in taken.headers["Content-Disposition"]


def test_of_lists_by_the_thousand_an_entrys_page_shows_the_first_values_and_where_all_are(client):
    lengths = {"distribution": "empirical", "samples": list(range(1, 150_001))}
    store.create("traffic", {**TRAFFIC, "input_tokens": lengths})
    page = client.get("/catalogue/traffic/t1/").content.decode()
    assert len(page) < 200_000
    assert "and 149,980 more" in page
    assert "Long lists are cut here" in page
    whole = json.loads(client.get("/catalogue/traffic/t1.json").content)
    assert whole["input_tokens"] == lengths


def test_an_entry_leads_to_what_it_names_and_what_names_it(client, stored):
    assert 'href="/catalogue/models/m1/"' in page_of(client, "/catalogue/profiles/p1/")
    chip = page_of(client, "/catalogue/hardware/x1/")
    assert 'href="/catalogue/profiles/p1/"' in chip
    assert 'href="/catalogue/prices/o1/"' in chip


def test_a_model_compares_what_was_measured_with_what_its_layers_give(client, stored):
    table = page_of(client, "/catalogue/models/m1/").split("data-sizes")[1].split("</table>")[0]
    rows = [re.sub(r"<.*?>", " ", row).split() for row in re.findall(r"<tr.*?</tr>", table, re.S)]
    # 327,680 bytes a token in bf16; the measured points say the same at 1K, and 40,960 MiB at 128K.
    assert ["bf16", "own", "1K", "320.0", "0.0", "320.0", "320.0", "0.0"] in rows
    assert ["128K", "40,960.0", "0.0", "40,960.0", "40,960.0", "0.0"] in rows
    assert ["fp8", "1K", "160.0", "0.0", "160.0", "–", "–"] in rows


def test_a_profile_says_where_it_is_extrapolated_and_how_good_its_fit_is(client, stored):
    page = page_of(client, "/catalogue/profiles/p1/")
    assert page.count('state-running">extrapolated') == 1  # 128K, of points up to 32K
    assert "Quadratic fit off by" in page
    assert "Largest batch, table" in page


def test_an_offer_stands_among_those_for_the_same_hardware(client, stored):
    store.create("prices", {**OFFER, "name": "o2", "date": "2026-12-01", "usd_per_gpu_hour": 2.25})
    bought = {"usd_per_gpu": 35064, "amortisation_years": 4, "usd_per_kwh": 0.1, "pue": 1.25}
    store.create("prices", {"name": "o3", "hardware": "x1", "kind": "purchase", "purchase": bought})
    page = page_of(client, "/catalogue/prices/o1/").split('id="offers"')[1]
    assert page.index("2.250") < page.index("3.500")
    # 35,064 USD over 35,064 hours, and 0.1 · 1.25 · 0.7 kW
    assert "1.087" in page


@pytest.mark.parametrize("kind", ["published", "measured"])
def test_a_claim_of_evidence_without_a_source_is_refused_beside_the_source(writer, kind):
    sent = {"name": "x9", "memory_bytes": "80", "source_kind": kind, "source": "  "}
    page = writer.post("/catalogue/hardware/new/", sent).content.decode()
    told = f"memory_bytes is said to be {kind}, so name the publication or measurement"
    assert told in page.split('id="e-source">')[1].split("</p>")[0]
    assert '<a href="#f-source">Source</a>' in page
    assert store.named("hardware", "x9") is None
    assert writer.post("/catalogue/hardware/new/", {**sent, "source": "data sheet"}).status_code == 302


def test_a_source_may_be_left_out_of_what_a_user_sets(writer):
    sent = {"name": "x9", "memory_bytes": "80", "source_kind": "user", "source": ""}
    assert writer.post("/catalogue/hardware/new/", sent).status_code == 302


def test_an_entry_that_none_names_says_that_scenarios_hold_copies(client, stored):
    page = page_of(client, "/catalogue/profiles/p1/")
    assert "No entry names this profile." in page
    assert "Scenarios hold copies of the figures that they were made of" in page
    assert "changing this profile changes no stored scenario" in page


def test_what_users_wrote_is_escaped(client, stored):
    store.create("links", {**LINK, "name": "l2", "title": "<script>alert(1)</script>", "notes": "<b>"})
    for address in ("/catalogue/links/", "/catalogue/links/l2/", "/catalogue/links/l2/history/"):
        assert "<script>alert" not in page_of(client, address)


def test_pages_work_under_a_prefix(client, stored, under_a_prefix):
    page = page_of(client, "/catalogue/profiles/p1/")
    assert 'href="/planner/catalogue/models/m1/"' in page
    assert not re.search(r'(?:href|action)="/(?!planner/|static/)', page)


# --- changing ---


def test_visitors_look_and_sign_in_to_change(client, stored):
    for address in ("/catalogue/hardware/", "/catalogue/hardware/x1/"):
        page = page_of(client, address)
        assert "Sign in to change" in page
        assert "/edit/" not in page
    for address in ("new/", "x1/edit/", "x1/clone/", "x1/delete/"):
        response = client.get(f"/catalogue/hardware/{address}")
        assert response.headers["Location"] == f"/login/?next=/catalogue/hardware/{address}"
    for action in ("archive", "restore", "delete", "edit", "history/1/restore"):
        assert client.post(f"/catalogue/hardware/x1/{action}/").status_code == 302
    assert Revision.objects.filter(entry=stored["hardware"]).count() == 1


def test_an_entry_is_added_with_a_source_for_every_figure(writer):
    sent = {"name": "n1", "title": "N1", "memory_bytes": "141", "dense_flops.bf16": "989",
            "source_kind": "published", "source": "a data sheet"}  # fmt: skip
    response = writer.post("/catalogue/hardware/new/", sent, follow=True)
    assert "Stored N1." in response.content.decode()
    entry = Entry.objects.get()
    sheet = {"kind": "published", "source": "a data sheet"}
    assert entry.document == {
        "name": "n1", "title": "N1", "memory_bytes": 141e9, "dense_flops": {"bf16": 989e12},
        "provenance": {"memory_bytes": sheet, "dense_flops": sheet},
    }  # fmt: skip
    assert entry.revisions.get().by.username == "admin"


def test_a_mistake_stores_nothing_and_keeps_what_was_typed(writer, stored):
    sent = {"name": "x1", "memory_bytes": "much", "tdp_w": "-5", "source": "mine"}
    response = writer.post("/catalogue/hardware/new/", sent)
    page = response.content.decode()
    assert response.status_code == 200
    assert 'value="much"' in page
    assert 'value="mine"' in page
    assert re.search(r'id="f-memory_bytes"[^>]*aria-invalid="true"[^>]*aria-describedby="e-memory_bytes"', page)
    assert '<a href="#f-memory_bytes">Memory</a>: must be a number' in page
    assert Entry.objects.filter(kind="hardware").count() == 1
    taken = writer.post("/catalogue/hardware/new/", {"name": "x1"}).content.decode()
    assert 'id="e-name">is taken among hardware; choose another' in taken


def test_an_edit_stores_a_revision_and_marks_only_what_it_changes(writer, stored):
    sent = {"revision": "1", "dense_flops.fp8": "2000", "source_kind": "measured", "source": "our lab"}
    writer.post("/catalogue/hardware/x1/edit/", sent)
    entry = Entry.objects.get(kind="hardware")
    assert entry.revision == 2
    assert entry.document["dense_flops"] == {"bf16": 9.89e14, "fp8": 2e15}
    assert entry.document["provenance"] == {
        "dense_flops": {"kind": "published", "source": "Acme's data sheet"},
        "dense_flops.fp8": {"kind": "measured", "source": "our lab"},
    }


def test_storing_without_a_change_stores_no_revision(writer, stored):
    response = writer.post("/catalogue/hardware/x1/edit/", {"revision": "1", "tdp_w": "700"}, follow=True)
    assert "Nothing was changed" in response.content.decode()
    assert Revision.objects.filter(entry=stored["hardware"]).count() == 1


def test_an_edit_on_an_older_revision_says_what_changed_and_keeps_both(writer, stored):
    store.update(stored["hardware"], {**CHIP, "tdp_w": 900.0, "vendor": "Acme AG"}, revision=1)
    sent = {"revision": "1", "tdp_w": "800", "memory_bytes": "96"}
    response = writer.post("/catalogue/hardware/x1/edit/", sent)
    page = response.content.decode()
    assert response.status_code == 200
    assert Entry.objects.get(kind="hardware").document["tdp_w"] == 900.0
    conflict = page.split("data-conflict")[1].split("</section>")[0]
    assert "Revision 2, edited" in conflict
    assert "<del>700 W</del>" in conflict
    assert "<ins>900 W</ins>" in conflict
    inputs = dict(re.findall(r'name="([\w.]+)" value="([^"]*)"', page))
    assert (inputs["tdp_w"], inputs["memory_bytes"], inputs["vendor"]) == ("800", "96", "Acme AG")
    assert inputs["revision"] == "2"
    assert "also changed by somebody else, to: 900" in page
    writer.post("/catalogue/hardware/x1/edit/", inputs)
    stored_now = Entry.objects.get(kind="hardware").document
    assert (stored_now["tdp_w"], stored_now["memory_bytes"], stored_now["vendor"]) == (800, 96e9, "Acme AG")


def test_a_copy_gets_the_name_that_was_asked_for(writer, stored):
    taken = writer.post("/catalogue/hardware/x1/clone/", {"name": "x1"})
    assert "is taken" in taken.content.decode()
    writer.post("/catalogue/hardware/x1/clone/", {"name": "x2"})
    assert Entry.objects.get(name="x2").document == {**CHIP, "name": "x2"}


def test_archiving_and_restoring_are_changes_like_others(writer, stored):
    writer.post("/catalogue/hardware/x1/archive/", {"revision": "1"})
    assert Entry.objects.get(kind="hardware").archived
    late = writer.post("/catalogue/hardware/x1/restore/", {"revision": "1"}, follow=True)
    assert "Nothing was done" in late.content.decode()
    writer.post("/catalogue/hardware/x1/restore/", {"revision": "2"})
    assert not Entry.objects.get(kind="hardware").archived


def test_only_what_nothing_uses_is_deleted_and_after_a_question(writer, stored):
    assert "cannot be deleted" in page_of(writer, "/catalogue/hardware/x1/delete/")
    writer.post("/catalogue/hardware/x1/delete/")
    assert Entry.objects.filter(kind="hardware").exists()
    assert "history of 1 revision." in page_of(writer, "/catalogue/links/l1/delete/")
    writer.post("/catalogue/links/l1/delete/")
    assert not Entry.objects.filter(kind="links").exists()


def test_a_shipped_entry_that_was_deleted_can_be_brought_back_from_the_list(writer):
    seeding.seed()
    name = Entry.objects.filter(kind="links").order_by("name").first().name
    assert "the list can bring it back" in page_of(writer, f"/catalogue/links/{name}/delete/")
    writer.post(f"/catalogue/links/{name}/delete/")
    listed = page_of(writer, "/catalogue/links/")
    assert "1 shipped entry was deleted" in listed
    assert f'action="/catalogue/links/{name}/restore/"' in listed
    writer.post(f"/catalogue/links/{name}/restore/")
    assert Entry.objects.filter(kind="links", name=name).exists()
    assert "was deleted" not in page_of(writer, "/catalogue/links/")
    assert writer.post("/catalogue/links/never-there/restore/").status_code == 404


def test_a_list_can_be_narrowed_by_what_entries_mean_without_saying_so(client):
    seeding.seed()
    assert "<option>bf16</option>" in page_of(client, "/catalogue/models/")


def test_a_link_can_prefill_the_form_of_what_it_leads_to(writer, stored):
    page = page_of(writer, "/catalogue/prices/new/?hardware=x1")
    assert '<option value="x1" selected>' in page


# --- history ---


def test_history_says_who_changed_what_from_what_to_what(client, stored, django_user_model):
    ada = django_user_model.objects.create_user("ada")
    store.update(stored["hardware"], {**CHIP, "memory_bytes": 9.6e10}, revision=1, by=ada.pk)
    page = page_of(client, "/catalogue/hardware/x1/history/")
    newest = page.split('data-revision="2"')[1].split('data-revision="1"')[0]
    assert "by ada" in newest
    row = newest.split('data-path="memory_bytes"')[1].split("</tr>")[0]
    assert "<del>80 GB</del>" in row
    assert "<ins>96 GB</ins>" in row
    assert newest.count("data-path=") == 1
    assert "<del>80 GB</del>" not in page_of(client, "/catalogue/hardware/x1/history/2/")
    assert "<ins>96 GB</ins>" in page_of(client, "/catalogue/hardware/x1/history/1/")


def test_history_takes_no_more_questions_the_longer_it_is(client, stored, django_assert_max_num_queries):
    entry = stored["links"]
    for number in range(1, 26):
        store.update(entry, {**LINK, "connections": number}, revision=number)
    with django_assert_max_num_queries(5):
        page = page_of(client, "/catalogue/links/l1/history/")
    assert page.count("data-revision=") == 20
    assert "<del>" in page.rsplit("data-revision=", 1)[1]  # against the revision on the next page


def test_any_version_can_be_stored_again(writer, stored):
    store.update(stored["links"], {**LINK, "rtt_s": 0.09}, revision=1)
    writer.post("/catalogue/links/l1/history/1/restore/", {"revision": "2"})
    entry = Entry.objects.get(kind="links")
    assert entry.revision == 3
    assert entry.document == LINK
