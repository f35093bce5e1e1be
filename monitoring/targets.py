"""What may be said of a target or of a server of queries; storing it with its source; trying it without storing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import IntegrityError, transaction

from monitoring import addresses, asking, mappings, registry
from monitoring.mapping import dry_run
from monitoring.mapping.dry_run import Report
from monitoring.models import Fetched, Pull, Source, Target
from monitoring.signals import TOLD
from monitoring.sources.fetching import Failed, Fetcher

SOURCE = ("name", "labels", "systems", "enabled")
FIELDS: dict[type[Fetched], tuple[str, ...]] = {
    Target: (*SOURCE, "url", "interval_s", "timeout_s", "bearer_token_file"),
    Pull: (*SOURCE, "url", "queries", "interval_s", "timeout_s", "bearer_token_file"),
}
"""What may be said; of a new one at least the name and the url, and of a pull its queries."""
OF_QUERY = ("query", "signal", "scale", "name", "kind")
SHORTEST_S, LONGEST_S = 1.0, 300.0
SHORTEST_TIMEOUT_S, USUAL_TIMEOUT_S = 0.1, 10.0
LONGEST_URL, LONGEST_QUERY, MOST_QUERIES = addresses.LONGEST, 2000, 50
METRIC = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]{0,199}")


class Wrong(ValueError):
    """What is said of one cannot be; `errors` has what is wrong, by field."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {said}" for field, said in errors.items()))
        self.errors = errors


def store(fetched: Fetched, given: Mapping[str, Any]) -> None:
    """Changes one, or makes a new one with its source, as `given` says. Raises Wrong; then nothing is changed."""
    unknown = [field for field in given if field not in FIELDS[type(fetched)]]
    if unknown:
        raise Wrong({str(unknown[0])[:100]: f"is not a field here; allowed: {', '.join(FIELDS[type(fetched)])}"})
    said = {**described(fetched), **given}
    if "timeout_s" not in given and "interval_s" in given:
        said["timeout_s"] = _usual_timeout_s(said["interval_s"])
    if wrong := mistakes(type(fetched), said):
        raise Wrong(wrong)
    source = fetched.source if fetched.pk else Source()
    for field in FIELDS[type(fetched)]:
        setattr(source if field in SOURCE else fetched, field, said[field])
    fetched.up, fetched.last_error = None, ""  # that was said of what it was before
    try:
        with transaction.atomic():
            source.save(update_fields=SOURCE if source.pk else None)
            fetched.source = source
            fetched.save()
    except IntegrityError:
        raise Wrong({"name": f"{source.name} is the name of another source"}) from None


def described(fetched: Fetched) -> dict[str, Any]:
    """What is said of it now; of one that is not stored yet, what it is without more said."""
    source = fetched.source if fetched.pk else Source()
    return {field: getattr(source if field in SOURCE else fetched, field) for field in FIELDS[type(fetched)]}


def _usual_timeout_s(interval_s: Any) -> Any:
    return min(0.8 * interval_s, USUAL_TIMEOUT_S) if _is_number(interval_s) else USUAL_TIMEOUT_S


def mistakes(kind: type[Fetched], said: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a description, by field."""
    found = registry.mistakes(said["name"], said["labels"], said["systems"])
    checks = [_of_enabled(said), _of_url(said["url"]), _of_times(said), _of_token_file(said)]
    if kind is Pull:
        checks.append(_of_queries(said["queries"]))
    for check in checks:
        for field, message in check:
            found.setdefault(field, message)
    return found


def _of_enabled(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if not isinstance(said["enabled"], bool):
        yield "enabled", "must be true or false"


def _of_url(url: Any) -> Iterator[tuple[str, str]]:
    for message in addresses.mistakes(url, "http://10.0.0.1:8000/metrics", "bearer_token_file"):
        yield "url", message


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _of_times(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    interval_s, timeout_s = said["interval_s"], said["timeout_s"]
    if not _is_number(interval_s) or not SHORTEST_S <= interval_s <= LONGEST_S:
        yield "interval_s", f"must be from {SHORTEST_S:g} to {LONGEST_S:g} s, got {interval_s!r:.50}"
    elif not _is_number(timeout_s) or not SHORTEST_TIMEOUT_S <= timeout_s < interval_s:
        limit = f"{SHORTEST_TIMEOUT_S:g} s to less than the interval of {interval_s:g} s"
        yield "timeout_s", f"must be from {limit}, got {timeout_s!r:.50}"


def _of_token_file(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    name = said["bearer_token_file"]
    if name == "":
        return
    if not isinstance(name, str) or not asking.TOKEN_FILE.fullmatch(name) or len(name) > 100:
        yield "bearer_token_file", "must be the name of a file in the credentials' directory, without a path"
        return
    try:
        asking.token(name)
    except Failed as problem:
        yield "bearer_token_file", str(problem)


def _of_queries(queries: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(queries, list) or not 1 <= len(queries) <= MOST_QUERIES:
        yield "queries", f"must be a list of 1 to {MOST_QUERIES} queries"
        return
    for at, query in enumerate(queries):
        for field, message in _of_query(query):
            yield f"queries.{at}{field}", message


def _of_query(query: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(query, Mapping):
        yield "", f"must be an object of {', '.join(OF_QUERY)}"
        return
    for field in query:
        if field not in OF_QUERY:
            yield f".{str(field)[:100]}", f"is not a field here; allowed: {', '.join(OF_QUERY)}"
    text = query.get("query")
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_QUERY or "\0" in text:
        yield ".query", f"must be a PromQL expression of up to {LONGEST_QUERY} characters"
    yield from _of_meaning(query)


def _of_meaning(query: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    signal, name, kind, scale = (query.get(field) for field in ("signal", "name", "kind", "scale"))
    allowed = [each.name for each in TOLD.values() if each.kind != "histogram"]
    if signal is not None and signal not in allowed:
        listed = f"must be one of {', '.join(allowed)}, got {signal!r:.60}"
        yield ".signal", f"{listed}; of histograms ask for the parts by their names"
    if signal is not None and (name is not None or kind is not None):
        yield ".signal", "says already what the answer is: give name and kind without it, or none of them"
    if name is not None and not (isinstance(name, str) and METRIC.fullmatch(name)):
        yield ".name", "must be the name of a metric"
    if kind not in (None, "counter", "gauge"):
        yield ".kind", f"must be counter or gauge, got {kind!r:.50}"
    if scale is not None and (signal is None or not _is_number(scale) or scale <= 0):
        yield ".scale", "must be a number greater than 0, with a signal; mappings have scales of their own"


def attempt(fetched: Fetched) -> tuple[Report | None, str]:
    """What it answers now and what would become of that; and what was wrong. Nothing is stored."""
    asked = asking.asked(fetched)
    found = async_to_sync(_attempt)(asked)
    if found.error and not found.readings:
        return None, found.error
    known = mappings.known()
    systems = [known[name] for name in asked.known.systems if name in known] or list(known.values())
    return dry_run.report(found.readings, found.rejected, systems, dict(asked.known.labels)), found.error


async def _attempt(asked: asking.Asked) -> asking.Found:
    fetcher = Fetcher(settings.SCRAPE_LINK_LOCAL)
    try:
        return await asking.ask(asked, fetcher, asking.at_once, asking.now_ms())
    finally:
        await fetcher.close()


def remove(fetched: Fetched) -> None:
    """Deletes it with its source, and all that was read from it."""
    fetched.source.delete()
