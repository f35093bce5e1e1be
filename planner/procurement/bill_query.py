"""Parameters of an address as a checked table: what a bill is asked by, and how any such table is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, ValidationError

from planner.documents.errors import from_validation, refuse
from planner.documents.fields import NotNegative, Table, Text, fields_by_place
from planner.documents.plain import require_plain
from planner.procurement.bill import Power

type Query = Mapping[str, Sequence[str]]
"""Each parameter with all its values, in their order."""

Prices = Annotated[tuple[Text, ...], Field(max_length=100)]
"""Texts HARDWARE=USD or HARDWARE=OFFER."""
OF_THE_ANSWER = ("format", "page", "page_size")
"""Parameters that say how the answer is shown, and are read elsewhere."""


class BillQuery(Table):
    """How a scenario's bill is made out."""

    form: Literal["exact", "paper"] = "exact"
    price: Prices = ()
    usd_per_kwh: NotNegative | None = None
    pue: Annotated[float, Field(ge=1, le=5)] | None = None

    def power(self) -> Power | None:
        """What electricity costs; None where it is not to be costed. Raises DocumentError."""
        if self.usd_per_kwh is None:
            if self.pue is not None:
                raise refuse("pue", self.pue, "is read beside usd_per_kwh only; give both or neither")
            return None
        return Power(self.usd_per_kwh, 1.0 if self.pue is None else self.pue)


def table_of[T: Table](schema: type[T], query: Query) -> T:
    """The table that parameters make. Raises DocumentError, naming the parameter."""
    asked = {name: values for name, values in query.items() if name not in OF_THE_ANSWER}
    given = {name: _value(schema, name, values) for name, values in asked.items()}
    require_plain({name: list(value) if isinstance(value, tuple) else value for name, value in given.items()})
    try:
        return schema.model_validate(given)
    except ValidationError as problem:
        raise from_validation(problem, given, fields_by_place(schema)) from problem


def _value(schema: type[Table], name: str, values: Sequence[str]) -> Any:
    """All values of a parameter that takes several; else its one value, as a number where it takes numbers."""
    field = schema.model_fields.get(name)
    if field is not None and isinstance(field.default, tuple):
        return tuple(values)
    if len(values) > 1:
        raise refuse(name, values[1], "is given twice; leave one out")
    return values[0] if field is None or _takes_text(field.annotation) else _number(values[0])


def _takes_text(annotation: Any) -> bool:
    """Whether text stands somewhere in the type of a field."""
    return annotation is str or isinstance(annotation, str) or any(map(_takes_text, get_args(annotation)))


def _number(text: str) -> Any:
    """A whole number or another one; what is neither stays text, which the schema then refuses."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
