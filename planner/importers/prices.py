"""Price lists: a CSV with an offer on every line, each of which becomes an entry; all of them or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from hashlib import sha256
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unicodedata import combining, normalize

from planner.documents.errors import DocumentError, FieldError, refuse
from planner.entries import check
from planner.importers import reading
from planner.importers.base import Assumption, Choices, Imported, Mapped
from planner.importers.chips import Chips, Known, chosen
from planner.importers.tables import Record, checked_header, plain, quoted, records, rows, slug

MOST_OFFERS = 10_000
MOST_ERRORS = 50
LONGEST_NAME = 90
"""Characters of an entry's name, before a number that tells two offers of a day apart."""
KINDS = ("on_demand", "spot", "reserved", "blended", "purchase")
NAMES: Mapping[str, Sequence[str]] = {
    "hardware": ("hardware", "gpu", "chip", "accelerator", "gpu_model", "gpu_type"),
    "date": ("date", "day", "as_of", "offered_on"),
    "provider": ("provider", "cloud", "seller"),
    "region": ("region", "location", "zone"),
    "kind": ("kind", "pricing", "price_type", "contract", "term"),
    "usd_per_gpu_hour": ("usd_per_gpu_hour", "usd_gpu_hour", "price_per_gpu_hour_usd", "gpu_hour_usd"),
    "usd_per_node_hour": ("usd_per_node_hour", "usd_per_hour", "usd_per_instance_hour", "price_per_hour_usd"),
    "price_per_gpu_hour": ("price_per_gpu_hour", "gpu_hour_price"),
    "price_per_hour": ("price_per_hour", "price", "node_price", "instance_price"),
    "usd_per_gpu": ("usd_per_gpu", "purchase_usd", "purchase_usd_per_gpu"),
    "gpus": ("gpus", "gpu_count", "gpus_per_node", "num_gpus"),
    "currency": ("currency",),
    "amortisation_years": ("amortisation_years", "amortization_years", "years"),
    "usd_per_kwh": ("usd_per_kwh", "power_usd_per_kwh"),
    "pue": ("pue",),
    "source": ("source", "url", "reference"),
}
PER_GPU = ("usd_per_gpu_hour", "price_per_gpu_hour")
PER_NODE = ("usd_per_node_hour", "price_per_hour")
NO_CURRENCY = ("price_per_gpu_hour", "price_per_hour")
"""Columns whose names do not say dollars: a `currency` column has to."""
PURCHASE = ("usd_per_gpu", "amortisation_years", "usd_per_kwh", "pue")
CHOICES = ("currency", "date", "hardware", "kind", "provenance", "provider", "region", "source")


def read_many(path: Path, choices: Choices, chips: Known = MappingProxyType({})) -> list[Imported]:
    """An entry an offer, checked as the catalogue checks it; nothing is stored.

    `choices`: those of `CHOICES` for what the file has no column of, and `hardware:NAME` for a chip that the file
    calls otherwise than the catalogue, whose hardware `chips` are. Raises DocumentError with the mistakes of every
    line, by line and column.
    """
    _check_choices(choices)
    table = (row for row in rows(reading.lines(path)) if row[1])
    header = next(table, None)
    if header is None:
        raise refuse(path.name, None, "is empty")
    columns = _columns(checked_header(*header))
    offers = list(islice(records(header[1], table), MOST_OFFERS + 1))
    if not offers:
        raise refuse(f"line {header[0]}", None, "is the only line: there are no offers below the header")
    if len(offers) > MOST_OFFERS:
        raise refuse(f"line {offers[-1].line}", None, f"more than {MOST_OFFERS} offers in one file")
    called = Chips(chips, choices)
    documents = _all_or_none(_Offers(columns, choices, called), offers)
    called.check()
    mapping, assumptions, notes = _shared(header[1], columns, choices)
    shared = mapping, (*called.assumptions, *assumptions), notes
    return [Imported("prices", document, *shared) for document in documents]


def _check_choices(choices: Choices) -> None:
    """Raises DocumentError where somebody chose what is not open here."""
    told = f"is no choice of a price list; open are: {', '.join(CHOICES)}"
    known = {*CHOICES, *dict(chosen(choices))}
    found = [FieldError(field, value, told) for field, value in choices.items() if field not in known]
    if found:
        raise DocumentError(found)


def _columns(header: Sequence[str]) -> dict[str, str]:
    """Our fields to their columns. Raises DocumentError where two columns are the same thing."""
    found: dict[str, str] = {}
    for name in header:
        ours = next((key for key, theirs in NAMES.items() if plain(name) in theirs), None)
        if ours in found:
            raise refuse(f"column {name}", None, f"is the same as column {found[ours]}; leave one of them out")
        if ours:
            found[ours] = name
    if not set(found) & {*PER_GPU, *PER_NODE, "usd_per_gpu"}:
        needs = "usd_per_gpu_hour, usd_per_hour with gpus, or usd_per_gpu of a purchase"
        raise refuse("columns", None, f"are {quoted(header, 8)}; none is a price: {needs}")
    return found


def _shared(
    header: Sequence[str], columns: Mapping[str, str], choices: Choices
) -> tuple[tuple[Mapped, ...], tuple[Assumption, ...], tuple[str, ...]]:
    """What all offers of a file have in common: mapping, assumptions, notes."""
    mapping = tuple(Mapped(name, ours, "divided by gpus" if ours in PER_NODE else "") for ours, name in columns.items())
    assumptions = (Assumption("provenance", choices.get("provenance", "user"), "what the figures rest on"),)
    unused = [name for name in header if name not in columns.values()]
    return mapping, assumptions, (f"columns not used: {quoted(unused)}",) if unused else ()


def _all_or_none(offers: _Offers, lines: Sequence[Record]) -> list[dict[str, Any]]:
    """The documents of all lines. Raises DocumentError with the mistakes of all lines, the first fifty of them."""
    documents, mistakes = [], []
    for record in lines:
        try:
            documents.append(offers.document(record))
        except DocumentError as problem:
            mistakes += [offers.at(record, error) for error in problem.errors]
        if len(mistakes) >= MOST_ERRORS:
            break
    if mistakes:
        raise DocumentError(mistakes[:MOST_ERRORS])
    return list(_named_once(documents))


def _named_once(documents: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Names that occur again get a number: two offers of a day are two entries."""
    seen: Counter[str] = Counter()
    taken: set[str] = set()
    for document in documents:
        name = document["name"]
        while document["name"] in taken:
            seen[name] += 1
            document["name"] = f"{name}-{seen[name] + 1}"
        taken.add(document["name"])
        yield document


class _Offers:
    """From a line to an entry, by the columns that there are and the choices for those that there are not."""

    def __init__(self, columns: Mapping[str, str], choices: Choices, chips: Chips) -> None:
        self.columns = columns
        self.choices = choices
        self.chips = chips

    def at(self, record: Record, error: FieldError) -> FieldError:
        """A mistake of the entry as one of the line: `line 17, GPU`."""
        field = (error.field or "").rpartition(".")[2]
        if error.field and error.field.startswith("line "):
            return error
        place = record.place(self.columns[field]) if field in self.columns else f"line {record.line}"
        message = error.message if field in self.columns or not error.field else f"{error.field} {error.message}"
        return FieldError(place, error.value, message)

    def text(self, record: Record, field: str) -> str:
        """A cell, or the choice that stands for its column."""
        cell = record.cells[self.columns[field]] if field in self.columns else ""
        return cell or self.choices.get(field, "")

    def number(self, record: Record, field: str) -> float | None:
        """A number in a cell, None where there is none. Raises DocumentError."""
        return record.number(self.columns[field], 0.0) if field in self.columns else None

    def document(self, record: Record) -> dict[str, Any]:
        """The entry of a line, checked. Raises DocumentError."""
        kind = self.kind(record)
        hardware = self.text(record, "hardware")
        if not hardware:
            raise refuse("hardware", None, "is missing: give it a column, or choose hardware")
        offer = {
            "hardware": self.chips.name(hardware),
            "date": _day(self.text(record, "date"), self.place(record, "date")),
            "provider": self.text(record, "provider"),
            "region": self.text(record, "region"),
            "kind": kind,
        }
        price = self.purchase(record) if kind == "purchase" else self.per_gpu_hour(record)
        provenance = {"kind": self.choices.get("provenance", "user"), "source": self.text(record, "source")}
        figure = "purchase" if kind == "purchase" else "usd_per_gpu_hour"
        document: dict[str, Any] = {"name": _name(offer), **offer, figure: price}
        document["provenance"] = {figure: provenance}
        check("prices", document)
        return document

    def place(self, record: Record, field: str) -> str:
        return record.place(self.columns[field]) if field in self.columns else field

    def kind(self, record: Record) -> str:
        """How it is paid; bought where the only price is one of a purchase. Raises DocumentError."""
        said = plain(self.text(record, "kind"))
        if not said and self.number(record, "usd_per_gpu") is not None:
            return "purchase"
        if said not in KINDS:
            raise refuse(self.place(record, "kind"), said or None, f"must be one of {', '.join(KINDS)}")
        return said

    def per_gpu_hour(self, record: Record) -> float:
        """USD a GPU and hour; a node's price is divided by its GPUs. Raises DocumentError."""
        given = [field for field in (*PER_GPU, *PER_NODE) if self.number(record, field) is not None]
        if len(given) != 1:
            message = f"needs one price an hour, has {len(given)}: {quoted(self.columns[field] for field in given)}"
            raise refuse(f"line {record.line}", None, message if given else "needs a price an hour, and has none")
        (field,) = given
        if field in NO_CURRENCY:
            self.dollars(record)
        price = self.number(record, field) or 0.0
        if price == 0:
            raise refuse(record.place(self.columns[field]), 0, "must be greater than 0")
        return price / self.gpus(record) if field in PER_NODE else price

    def gpus(self, record: Record) -> int:
        """By how many GPUs the price of a node is divided. Raises DocumentError."""
        count = self.number(record, "gpus")
        if count is None or count != int(count) or not 1 <= count <= 10_000:
            told = "must be a whole number from 1 to 10000: the price is that of a node"
            raise refuse(
                self.place(record, "gpus") if "gpus" in self.columns else f"line {record.line}, gpus", count, told
            )
        return int(count)

    def dollars(self, record: Record) -> None:
        """Raises DocumentError where a price is in another currency, or in none."""
        said = self.text(record, "currency").upper()
        if said not in ("USD", "$", "US$"):
            told = "must be USD: convert the price, and call its column usd_per_gpu_hour"
            raise refuse(f"line {record.line}, {self.columns.get('currency', 'currency')}", said or None, told)

    def purchase(self, record: Record) -> dict[str, float]:
        """Price, write-off and power of a chip that is bought. Raises DocumentError."""
        values = {field: self.number(record, field) for field in PURCHASE}
        missing = [
            FieldError(f"line {record.line}, {self.columns.get(field, field)}", None, "is needed for a purchase")
            for field, value in values.items()
            if value is None
        ]
        if missing:
            raise DocumentError(missing)
        return {field: value for field, value in values.items() if value is not None}


def _name(offer: Mapping[str, Any]) -> str:
    """Chip, provider, region, kind and day; what a name cannot hold of them leaves a digest in its place."""
    parts = (offer[field] or "" for field in ("hardware", "provider", "region", "kind", "date"))
    name = "-".join(filter(None, (_in_a_name(part) for part in parts)))
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 7].rstrip('-')}-{_digest(name)}"


def _in_a_name(text: str) -> str:
    """`Zürich` is zurich; of 阿里云 nothing is left but its digest, which tells it from 腾讯云."""
    letters = "".join(letter for letter in normalize("NFKD", text) if not combining(letter))
    if letters.isascii():
        return slug(letters)
    return f"{slug(letters)}-{_digest(text)}".strip("-")


def _digest(text: str) -> str:
    return sha256(text.encode(errors="backslashreplace")).hexdigest()[:6]


def _day(text: str, place: str) -> str | None:
    """A day as ISO 8601 writes it; others are ambiguous. Raises DocumentError."""
    if not text:
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as problem:
        raise refuse(place, text, "must be a day as YYYY-MM-DD") from problem
