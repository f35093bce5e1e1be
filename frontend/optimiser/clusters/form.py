"""The form of several clusters: its rows, what is wrong with them, and the job that answers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.forms.boundfield import BoundField

from frontend.catalogue.units import GBPS, PERCENT
from frontend.optimiser.clusters.rows import KINDS, MOST_ROUTES, Row, Rows, flat
from frontend.optimiser.fields import CountField, NumberField
from frontend.places import place
from planner import store
from planner.api import procurement
from planner.documents.errors import DocumentError, FieldError
from planner.fleet.schema import MOST
from planner.models import Job

type Choices = Mapping[str, list[tuple[str, str]]]
"""Values and labels, by the field that they are of."""

MOST_INSTANCES = 10_000
WIRE = {"prfaas": "prfaas", "link": "links", "pd": "pd"}
"""What the document calls the rows of each kind."""


class NameField(forms.CharField):
    """What something is called."""

    def __init__(self, label: str = "Name", **more: Any) -> None:
        widget = forms.TextInput(attrs={"class": "name", "autocomplete": "off"})
        super().__init__(label=label, max_length=100, widget=widget, **more)


class ClusterRow(forms.Form):
    """One row; `choices` are those of its lists to choose from."""

    paths: Mapping[str, str]
    """The field that each path in a row's part of the document comes from."""
    together: tuple[tuple[str, ...], ...] = ()
    """Fields by line, where they do not fit into one."""

    def __init__(self, choices: Choices, data: Row | None, initial: Row, prefix: str) -> None:
        super().__init__(data, initial=initial, prefix=prefix, auto_id="%s", use_required_attribute=False)
        for name, field in self.fields.items():
            if name in choices:
                cast(forms.ChoiceField, field).choices = choices[name]
            here = self[name].html_name
            described_by = f"{here}-error {here}-help" if field.help_text else f"{here}-error"
            field.widget.attrs |= {"aria-describedby": described_by, "autocomplete": "off"}

    @property
    def groups(self) -> list[list[BoundField]]:
        """The fields that stay together on the page."""
        return [[self[name] for name in names] for names in self.together or [tuple(self.fields)]]

    def refuse(self, field: str, said: str) -> None:
        """Tells a mistake beside a field."""
        self.add_error(field, said)

    def part(self) -> dict[str, Any]:
        """The row's part of the document."""
        raise NotImplementedError


class PrfaasRow(ClusterRow):
    """A PrfaaS cluster."""

    name = NameField()
    chips = forms.ChoiceField(label="Instances of")
    instances = CountField("instances", label="How many", min_value=0, max_value=MOST_INSTANCES)
    paths = {"name": "name", "hardware": "chips", "gpus_per_instance": "chips", "instances": "instances"}  # noqa: RUF012

    def clean(self) -> dict[str, Any]:
        """A number that is needed is told so."""
        if "instances" in self.cleaned_data and self.cleaned_data["instances"] is None:
            self.refuse("instances", "How many instances? Type a whole number.")
        return self.cleaned_data

    def part(self) -> dict[str, Any]:
        hardware, _, gpus = self.cleaned_data["chips"].rpartition(":")
        return {
            "name": self.cleaned_data["name"],
            "hardware": hardware,
            "gpus_per_instance": int(gpus),
            "instances": self.cleaned_data["instances"],
        }


class LinkRow(ClusterRow):
    """A link that one or several routes share."""

    name = NameField()
    bandwidth = NumberField(GBPS, label="Bandwidth", min_value=0, help_text="What it carries. Empty: unlimited.")
    paths = {"name": "name", "bandwidth_bps": "bandwidth"}  # noqa: RUF012

    def part(self) -> dict[str, Any]:
        usable = self.cleaned_data["bandwidth"]
        return {"name": self.cleaned_data["name"], "bandwidth_bps": "unlimited" if usable is None else usable}


class PdRow(ClusterRow):
    """A PD cluster with its share of the requests and its routes."""

    name = NameField()
    scenario = forms.ChoiceField(label="Scenario", help_text="Its model, traffic, PD cluster and decode count.")
    share = NumberField(PERCENT, label="Share", min_value=0, max_value=100, help_text="Of all requests.")
    prfaas1 = NameField("Longer prompts to", required=False)
    link1 = NameField("over the link", required=False)
    prfaas2 = NameField("the longest to", required=False)
    link2 = NameField("over the link", required=False)
    free = forms.BooleanField(label="Its split N_p/N_d may change", required=False)
    together = (("name", "scenario", "share", "free"), ("prfaas1", "link1"), ("prfaas2", "link2"))
    paths = {"name": "name", "scenario": "scenario", "share": "share", "routes": "prfaas1"}  # noqa: RUF012

    def __init__(self, choices: Choices, data: Row | None, initial: Row, prefix: str) -> None:
        super().__init__(choices, data, initial, prefix)
        for field in self.fields:
            if field[:-1] in ("prfaas", "link"):
                self.fields[field].widget.attrs["list"] = f"names-{field[:-1]}"

    def clean(self) -> dict[str, Any]:
        """A share that is needed, routes that are whole."""
        found = self.cleaned_data
        if "share" in found and found["share"] is None:
            self.refuse("share", "Which share of the requests? The shares add up to 100 %.")
        for at in range(1, MOST_ROUTES + 1):
            one, other = f"prfaas{at}", f"link{at}"
            if found.get(one) and not found.get(other):
                self.refuse(other, "Over which link?")
            if found.get(other) and not found.get(one):
                self.refuse(one, "To which PrfaaS cluster?")
        return found

    def part(self) -> dict[str, Any]:
        found = self.cleaned_data
        numbers = range(1, MOST_ROUTES + 1)
        return {
            "name": found["name"],
            "scenario": found["scenario"],
            "share": found["share"],
            "routes": [
                {"prfaas": found[f"prfaas{at}"], "link": found[f"link{at}"]} for at in numbers if found[f"link{at}"]
            ],
            "free_split": found["free"],
        }


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one kind, as the page shows them."""

    kind: str
    legend: str
    help: str
    one: str
    rows: list[ClusterRow]

    @property
    def can_grow(self) -> bool:
        """Whether there may be one more."""
        return len(self.rows) < MOST

    @property
    def least(self) -> int:
        """How many there must be."""
        return 1 if self.kind == "pd" else 0

    @property
    def can_shrink(self) -> bool:
        """Whether one may be taken away."""
        return len(self.rows) > self.least


TABLES: Mapping[str, tuple[type[ClusterRow], str, str, str]] = {
    "prfaas": (
        PrfaasRow,
        "PrfaaS clusters",
        "Each prefills for every PD cluster with a route to it.",
        "PrfaaS cluster",
    ),
    "link": (LinkRow, "Links", "Routes over the same link share it.", "link"),
    "pd": (
        PdRow,
        "PD clusters",
        "Without a route every prompt is prefilled where it comes in; with two, the longest prompts go the second way.",
        "PD cluster",
    ),
}


class ClustersForm:
    """All rows, and what the fleet is called."""

    def __init__(self, name: str, rows: Rows, *, is_asked: bool) -> None:
        data = flat(rows) if is_asked else None
        choices = {"chips": chips(rows), "scenario": scenarios()}
        self.name = FleetName({"name": name} if is_asked else None, initial={"name": name}, auto_id="%s")
        self.tables = [
            Table(kind, legend, said, one, [
                row(choices, data, given, f"{kind}-{at}") for at, given in enumerate(rows[kind])
            ])
            for kind, (row, legend, said, one) in ((kind, TABLES[kind]) for kind in KINDS)
        ]  # fmt: skip
        self.names = {kind: [row["name"] for row in rows[kind] if row.get("name")] for kind in ("prfaas", "link")}
        self.told: list[str] = []
        """What is wrong and belongs to no field."""

    @property
    def all_rows(self) -> list[ClusterRow]:
        return [row for table in self.tables for row in table.rows]

    def is_valid(self) -> bool:
        """Whether it can be asked; if not, every mistake stands beside its field."""
        if not all([self.name.is_valid(), *(row.is_valid() for row in self.all_rows)]):
            return False
        for row, field, said in list(self._mistakes()):
            row.refuse(field, said)
        return all(not row.errors for row in self.all_rows)

    def _mistakes(self) -> Iterator[tuple[ClusterRow, str, str]]:
        """What no single row can know."""
        known = {table.kind: [row.cleaned_data["name"] for row in table.rows] for table in self.tables}
        for table in self.tables:
            for at, row in enumerate(table.rows):
                if row.cleaned_data["name"] in known[table.kind][:at]:
                    yield row, "name", f"Another {table.one} is called so."
        clusters = self.tables[-1].rows
        for row in clusters:
            for field, name in row.cleaned_data.items():
                kind = field[:-1]
                if kind in ("prfaas", "link") and name and name not in known[kind]:
                    there = ", ".join(known[kind]) or "none"
                    yield row, field, f"There is no {TABLES[kind][3]} of this name; there is {there}."
        total = sum(row.cleaned_data["share"] for row in clusters)
        if abs(total - 1) > 1e-9:
            yield clusters[-1], "share", f"The shares add up to {100 * total:.6g} %, not to 100 %."

    def document(self) -> dict[str, Any]:
        """The question that was typed, once it is valid."""
        parts = {WIRE[table.kind]: [row.part() for row in table.rows] for table in self.tables}
        return {"problem": "clusters", "name": self.name.cleaned_data["name"], **parts}

    def submit(self, by: int | None) -> Job | None:
        """The job that answers it; None where it is refused."""
        try:
            job: Job = procurement.submit(self.document(), by)
        except DocumentError as problem:
            for error in problem.errors:
                self._tell(error)
            return None
        return job

    def _tell(self, error: FieldError) -> None:
        places, owners = {"name": "name"}, {}
        for table in self.tables:
            for row in table.rows:
                path = f"{WIRE[table.kind]}.{row.cleaned_data['name']}"
                for inner, field in row.paths.items():
                    places[f"{path}.{inner}"] = row[field].html_name
                    owners[row[field].html_name] = (row, field)
        found = place(error.field or "", places)
        if found == "name":
            self.name.add_error("name", error.message)
        elif found:
            row, field = owners[found]
            row.refuse(field, error.message)
        else:
            self.told.append(str(error))

    def summary(self) -> list[tuple[str, str, str]]:
        """All that is wrong with a field: where it stands, what that is called, and what is wrong."""
        found = [("name", "Name of the fleet", str(error)) for error in self.name.errors.get("name", [])]
        for table in self.tables:
            for at, row in enumerate(table.rows, 1):
                for field in row:
                    label = f"{table.one} {at}, {field.label}"
                    found += [(field.html_name, label[0].upper() + label[1:], str(error)) for error in field.errors]
        return found


class FleetName(forms.Form):
    """What the fleet is called."""

    name = NameField("Name of the fleet")


def chips(rows: Rows) -> list[tuple[str, str]]:
    """Instances of which a profile is stored, and those that the rows have already."""
    stored = store.entries("profiles").values_list("document__hardware", "document__gpus_per_instance")
    known = {f"{hardware}:{gpus}" for hardware, gpus in stored}
    known |= {row["chips"] for row in rows["prfaas"] if row.get("chips", "").rpartition(":")[2].isdecimal()}
    return [(each, _said(each)) for each in sorted(known)]


def _said(chips: str) -> str:
    hardware, _, gpus = chips.rpartition(":")
    return f"{gpus} × {hardware}"


def scenarios() -> list[tuple[str, str]]:
    """All that are offered, by name."""
    known = store.entries(store.SCENARIOS).order_by("name").values_list("name", "title")
    return [(name, f"{title} ({name})" if title else name) for name, title in known]
