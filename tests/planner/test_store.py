"""The stored catalogue: checked before it is stored, every change kept, nothing lost that others use."""

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from planner import exchange, seeding, store
from planner.catalog import documents, files
from planner.documents.errors import DocumentError
from planner.models import Deleted, Entry, Revision, Trace
from tests.examples import examples

pytestmark = pytest.mark.django_db
CHIP = {"name": "x1", "title": "Chip X1", "memory_bytes": 8e10, "dense_flops": {"bf16": 1e15}}
OFFER = {"name": "x1-acme", "hardware": "x1", "date": "2026-11-01", "kind": "on_demand", "usd_per_gpu_hour": 3.5}


def errors(kind, document):
    with pytest.raises(DocumentError) as caught:
        store.create(kind, document)
    return {error.field: error.message for error in caught.value.errors}


def test_what_is_stored_is_what_was_given():
    entry = store.create("hardware", CHIP)
    assert store.written(Entry.objects.get(pk=entry.pk)) == CHIP
    assert (entry.revision, entry.archived, entry.origin) == (1, False, "user")


def test_a_mistake_stores_nothing_and_names_its_field():
    assert "must be at least" in errors("hardware", {**CHIP, "memory_bytes": -1})["memory_bytes"]
    assert "is not a field here" in errors("hardware", {**CHIP, "memory": 1})["memory"]
    assert (
        "leads nowhere" in errors("hardware", {**CHIP, "provenance": {"tdp_w": {"kind": "user"}}})["provenance.tdp_w"]
    )
    assert not Entry.objects.exists()
    assert not Revision.objects.exists()


def test_a_name_is_taken_once_among_entries_of_a_kind():
    store.create("hardware", CHIP)
    assert "is taken" in errors("hardware", CHIP)["name"]
    assert Entry.objects.count() == 1


def test_an_entry_cannot_name_what_is_not_there():
    assert "is not among the stored hardware" in errors("prices", OFFER)["hardware"]
    store.create("hardware", CHIP)
    assert store.create("prices", OFFER).facts == {"usd_per_gpu_hour": 3.5}


def test_traffic_cannot_name_a_trace_that_is_not_stored():
    seeding.seed()
    known = Entry.objects.get(name="synthetic-completions").document
    for digest in ("ab" * 32, "\ud800", ""):
        assert "trace" in errors("traffic", {**known, "name": "mine", "trace": digest})
    told = errors("traffic", {**known, "name": "mine", "trace": "ab" * 32})["trace"]
    assert told == "is no stored trace; import the trace, or leave the field out"
    assert store.create("traffic", {**known, "name": "mine"}).document["trace"] == known["trace"]
    assert store.create("traffic", {**known, "name": "yours", "trace": None}).document["trace"] is None


def test_a_change_names_the_revision_that_it_rests_on():
    entry = store.create("hardware", CHIP)
    store.update(entry, {**CHIP, "tdp_w": 700.0}, revision=1)
    with pytest.raises(store.Conflict, match="changed by somebody else since revision 1"):
        store.update(Entry.objects.get(), {**CHIP, "tdp_w": 900.0}, revision=1)
    assert Entry.objects.get().document["tdp_w"] == 700.0


def test_every_change_leaves_the_document_as_it_was():
    ada = User.objects.create_user("ada")
    entry = store.create("hardware", CHIP, by=ada.pk)
    store.update(entry, {**CHIP, "tdp_w": 700.0}, revision=1, by=ada.pk)
    store.archive(entry, revision=2)
    store.restore(entry, revision=3)
    kept = [(each.number, each.change, each.document.get("tdp_w"), each.by) for each in entry.revisions.all()]
    assert kept == [
        (4, "restored", 700.0, None),
        (3, "archived", 700.0, None),
        (2, "edited", 700.0, ada),
        (1, "created", None, ada),
    ]


def test_a_name_does_not_change():
    entry = store.create("hardware", CHIP)
    with pytest.raises(DocumentError, match="cannot change"):
        store.update(entry, {**CHIP, "name": "x2"}, revision=1)


def test_what_others_name_is_archived_and_not_deleted():
    chip = store.create("hardware", CHIP)
    offer = store.create("prices", OFFER)
    with pytest.raises(store.InUse, match="prices/x1-acme"):
        store.delete(chip)
    assert list(store.entries("hardware")) == [chip]
    store.archive(chip, revision=1)
    assert not store.entries("hardware").exists()
    assert store.STORED.entry("hardware", "x1") == CHIP
    store.delete(offer)
    store.delete(chip)
    assert not Entry.objects.exists()


def test_a_copy_has_a_name_of_its_own():
    entry = store.create("hardware", CHIP)
    assert store.clone(entry, "x2").document == {**CHIP, "name": "x2"}
    with pytest.raises(DocumentError, match="is taken"):
        store.clone(entry, "x2")


def test_many_are_stored_all_or_none():
    with pytest.raises(DocumentError) as caught:
        store.store_all([("prices", {**OFFER, "usd_per_gpu_hour": "cheap"}), ("hardware", CHIP)])
    assert [error.field for error in caught.value.errors] == ["prices.x1-acme.usd_per_gpu_hour"]
    assert not Entry.objects.exists()
    put = store.store_all([("prices", OFFER), ("hardware", CHIP)])
    assert [(each.entry.name, each.status) for each in put] == [("x1", "new"), ("x1-acme", "new")]


def test_an_entry_without_a_name_is_told_by_its_place():
    nameless = {"title": "Chip"}
    given = [("hardware", CHIP), ("hardware", nameless), ("prices", {**OFFER, "name": 5}), ("hardware", nameless)]
    with pytest.raises(DocumentError) as caught:
        store.store_all([*given, ("hardware", "x2")])
    assert [(error.field, error.message) for error in caught.value.errors] == [
        ("hardware.1.name", "is missing"),
        ("hardware.2.name", "is missing"),
        ("hardware.3", "must be a table of fields"),
        ("prices.0.name", "must be text"),
    ]


def test_the_whole_catalogue_comes_back_identical():
    seeding.seed()
    text = files.as_yaml(exchange.whole())
    Entry.objects.all().delete()
    exchange.read_whole(files.parse(text))
    assert files.as_yaml(exchange.whole()) == text
    assert files.parse(files.as_json(exchange.whole())) == files.parse(text)


def test_an_export_comes_back_where_no_trace_has_been_stored():
    seeding.seed()
    known = Entry.objects.get(name="synthetic-completions").document
    Trace.objects.create(digest="ab" * 32, rows=1, statistics={})
    store.create("traffic", {**known, "name": "mine", "trace": "ab" * 32})
    before = exchange.whole()
    Entry.objects.all().delete()
    Trace.objects.all().delete()
    taken = exchange.read_whole(before)
    (note,) = taken.notes
    assert note.startswith("the recorded requests of 'mine' are not stored here")
    for entry in before["traffic"]:
        if entry["name"] == "mine":
            del entry["trace"]
    assert exchange.whole() == before
    assert set(Trace.objects.values_list("digest", flat=True)) == {
        entry["trace"] for entry in before["traffic"] if entry.get("trace")
    }
    assert {put.status for put in exchange.read_whole(before).put} == {"equal"}


def test_what_is_archived_but_named_is_exported_with_what_names_it():
    chip = store.create("hardware", CHIP)
    store.create("prices", OFFER)
    store.archive(chip, revision=1)
    store.archive(store.create("hardware", {"name": "x2"}), revision=1)
    text = files.as_yaml(exchange.whole())
    Entry.objects.all().delete()
    assert [put.entry.name for put in exchange.read_whole(files.parse(text)).put] == ["x1", "x1-acme"]


def test_reading_the_catalogue_again_changes_nothing():
    seeding.seed()
    exchange.read_whole(exchange.whole())
    assert not Revision.objects.exclude(number=1).exists()


def test_seeding_twice_is_seeding_once_and_leaves_alone_what_people_changed():
    assert seeding.seed() == sum(len(documents(kind)) for kind in store.ALL_KINDS) + len(seeding.TRACES)
    h20 = Entry.objects.get(kind="hardware", name="h20")
    store.update(h20, {**h20.document, "tdp_w": 500.0}, revision=1)
    assert seeding.seed() == 0
    assert Entry.objects.get(pk=h20.pk).document["tdp_w"] == 500.0


def test_seeding_brings_up_to_date_what_nobody_changed():
    seeding.seed()
    Entry.objects.filter(kind="hardware", name="h20").update(document={"name": "h20", "title": "old"})
    assert seeding.seed() == 1
    assert Entry.objects.get(kind="hardware", name="h20").document["title"] == "NVIDIA H20"


def test_a_shipped_entry_that_was_deleted_stays_away_until_it_is_asked_for():
    seeding.seed()
    store.delete(Entry.objects.get(kind="links", name="case-study-100g"))
    store.delete(Entry.objects.get(kind="traffic", name="synthetic-completions"))
    assert seeding.seed() == 0
    assert store.named("links", "case-study-100g") is None
    assert seeding.seed(deleted=True) == 2
    assert store.named("links", "case-study-100g").origin == "shipped"
    assert seeding.seed(deleted=True) == 0


def test_one_deleted_entry_is_brought_back_without_the_others():
    seeding.seed()
    for name in ("case-study-100g", "internet-replication"):
        store.delete(Entry.objects.get(kind="links", name=name))
    assert seeding.bring_back("links", "case-study-100g").name == "case-study-100g"
    assert store.named("links", "internet-replication") is None
    assert seeding.bring_back("links", "case-study-100g") is None
    assert seeding.bring_back("links", "never-there") is None


def test_an_entry_of_ones_own_under_the_name_of_a_deleted_one_is_left_alone():
    seeding.seed()
    store.delete(Entry.objects.get(kind="links", name="case-study-100g"))
    store.create("links", {**documents("links")[0], "name": "case-study-100g"})
    assert seeding.seed(deleted=True) == 0
    assert Entry.objects.get(kind="links", name="case-study-100g").origin == "user"


def test_nothing_is_seeded_that_names_what_was_deleted():
    seeding.seed()
    chip = Entry.objects.get(kind="hardware", name="h20")
    named = [(user.kind, user.name) for user in store.users(chip)]
    assert {kind for kind, _ in named} == {"prices", "profiles"}
    for kind, name in (*named, ("hardware", "h20")):
        store.delete(Entry.objects.get(kind=kind, name=name))
    with pytest.raises(DocumentError, match="names what was deleted too"):
        seeding.bring_back(*named[0])
    Deleted.objects.exclude(kind="hardware").delete()  # as if a later version were the first to ship the others
    assert seeding.seed() == 0
    chip = seeding.bring_back("hardware", "h20")
    assert [(user.kind, user.name) for user in store.users(chip)] == named


class RoundTrips(TestCase):
    @examples(25)
    @given(
        st.fixed_dictionaries(
            {"name": st.from_regex(r"[a-z0-9][a-z0-9-]{0,20}", fullmatch=True)},
            optional={
                "title": st.text(st.characters(exclude_categories=("C",)), max_size=40),
                "tdp_w": st.floats(1e-3, 1e6),
                "memory_bytes": st.floats(1, 1e15),
                "gpus_per_node": st.integers(1, 72),
            },
        )
    )
    def test_any_chip_comes_back_as_it_was_written(self, document):
        Entry.objects.all().delete()
        store.create("hardware", document)
        text = files.as_yaml(exchange.whole())
        Entry.objects.all().delete()
        exchange.read_whole(files.parse(text))
        assert files.as_yaml(exchange.whole()) == text
        assert store.written(Entry.objects.get()) == document
