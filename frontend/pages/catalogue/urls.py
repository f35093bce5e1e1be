"""Addresses of the catalogue's pages."""

from django.urls import URLPattern, URLResolver, path, re_path

from frontend.pages.catalogue.actions import archive, clone, delete, restore
from frontend.pages.catalogue.edit import edit, new
from frontend.pages.catalogue.entry import entry, entry_file
from frontend.pages.catalogue.history import history, restore_revision, revision
from frontend.pages.catalogue.listing import entries, entries_csv
from frontend.pages.catalogue.overview import overview, whole

ENTRY = "<slug:kind>/<slug:name>/"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", overview, name="catalogue"),
    re_path(r"^catalogue\.(?P<ending>yaml|json)$", whole, name="catalogue-whole"),
    path("<slug:kind>/", entries, name="catalogue-list"),
    path("<slug:kind>/entries.csv", entries_csv, name="catalogue-csv"),
    path("<slug:kind>/new/", new, name="catalogue-new"),
    re_path(r"^(?P<kind>\w+)/(?P<name>[-\w]+)\.(?P<ending>yaml|json)$", entry_file, name="catalogue-file"),
    path(ENTRY, entry, name="catalogue-entry"),
    path(ENTRY + "edit/", edit, name="catalogue-edit"),
    path(ENTRY + "clone/", clone, name="catalogue-clone"),
    path(ENTRY + "archive/", archive, name="catalogue-archive"),
    path(ENTRY + "restore/", restore, name="catalogue-restore"),
    path(ENTRY + "delete/", delete, name="catalogue-delete"),
    path(ENTRY + "history/", history, name="catalogue-history"),
    path(ENTRY + "history/<int:number>/", revision, name="catalogue-revision"),
    path(ENTRY + "history/<int:number>/restore/", restore_revision, name="catalogue-restore-revision"),
]
