"""Which tool wrote a file is told by what is in it, never by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from planner.documents.errors import DocumentError, refuse
from planner.importers import reading
from planner.importers.base import Choices
from planner.importers.profiles import (
    aiconfigurator,
    aiperf,
    guidellm,
    lifecycle,
    llmperf,
    server_metrics,
    serving,
    silicon,
    table,
)
from planner.importers.profiles.groups import meets
from planner.importers.profiles.nodes import Node
from planner.importers.profiles.rows import Results
from planner.importers.tables import quoted, rows

MOST_DOCUMENTS = 10_000
KNOWN = (
    "CSV with tokens and seconds, AIConfigurator's silicon table, vLLM and SGLang bench serve, genai-perf, AIPerf, "
    "GuideLLM, llmperf, inference-perf, requests for AIConfigurator's estimates"
)
MODEL_KEYS = ("model_id", "model")

type Reader = Callable[[Sequence[Node]], Results]

READERS: Sequence[tuple[Callable[[Node], bool], Reader]] = (
    (serving.is_serving, serving.read_serving),
    (serving.is_one_batch, serving.read_one_batch),
    (llmperf.is_summary, llmperf.read_summaries),
    (llmperf.is_by_concurrency, lambda nodes: llmperf.read_summaries(list(nodes[0].tables().values()))),
    (llmperf.is_digest, lambda nodes: llmperf.read_digests(nodes[0])),
    (llmperf.is_response, llmperf.read_responses),
    (lifecycle.is_report, lifecycle.read),
    (guidellm.is_report, lambda nodes: guidellm.read_report(nodes[0])),
    (server_metrics.is_export, server_metrics.read),
    (aiperf.is_summary, aiperf.read_summaries),
    (aiconfigurator.is_request, aiconfigurator.read),
)


def results(path: Path, choices: Choices) -> Results:
    """What the file holds. Raises DocumentError on a file that no reader knows, or that cannot be read."""
    # a detailed result of thousands of requests is one line
    lines = reading.lines(path, longest=reading.LARGEST_JSON)
    found = next((line for line in lines if line[1].strip()), None)
    if found is None:
        raise refuse(path.name, None, "is empty")
    number, first = found
    if first.lstrip()[0] not in "{[":
        return _table(path.name, chain([found], lines), choices)
    try:
        document = reading.json_value(first, path.name, number)
    except DocumentError:
        following = next((text for _, text in lines if text.strip()), "")
        if following.lstrip()[:1] == first.lstrip()[0] == "{":
            raise  # one result a line, and the first is broken
        return _documents(_listed(reading.json_document(path)), choices)
    if isinstance(document, dict):
        below = (Node(reading.json_value(text, path.name, at), line=at) for at, text in lines if text.strip())
        return _lines(Node(document, line=number), below, choices)
    return _documents(_listed(document), choices)


def _listed(document: Any) -> list[Node]:
    if not isinstance(document, list):
        return [Node(document)]
    if not document:
        raise refuse(None, None, "is an empty list")
    return [Node(item, str(index)) for index, item in enumerate(document)]


def _lines(first: Node, below: Iterator[Node], choices: Choices) -> Results:
    """A file with a document on every line; requests are streamed, whole results are not so many."""
    if aiperf.is_record(first):
        return aiperf.read_records(chain([first], below))
    nodes = [first, *islice(below, MOST_DOCUMENTS)]
    if len(nodes) > MOST_DOCUMENTS:
        raise refuse(f"line {nodes[-1].line}", None, f"more than {MOST_DOCUMENTS} results in one file")
    return _documents([Node(first.value)] if len(nodes) == 1 else nodes, choices)


def _documents(nodes: Sequence[Node], choices: Choices) -> Results:
    if aiperf.is_record(nodes[0]):
        return aiperf.read_records(nodes)
    if aiperf.is_raw(nodes[0]):
        message = "is perf_analyzer's raw export, which counts no tokens; take profile_export_genai_perf.json beside it"
        raise nodes[0].at("experiments").wrong(message)
    for matches, read in READERS:
        if matches(nodes[0]):
            for node in nodes:
                if not matches(node):
                    raise node.wrong("is a result of another kind than the first one in the file")
            return read(_of_one_model(nodes, choices))
    keys = nodes[0].value if isinstance(nodes[0].value, dict) else {}
    raise nodes[0].wrong(
        f"is no benchmark result that is known; it has the keys {quoted(keys, 8) or '(none)'}; {_known()}"
    )


def _of_one_model(nodes: Sequence[Node], choices: Choices) -> Sequence[Node]:
    """The results of the chosen model, all where there is but one. Raises DocumentError where that has to be chosen."""
    models = [next((name for key in MODEL_KEYS if (name := node.at(key).text())), "") for node in nodes]
    if len(set(models)) < 2:
        return nodes
    said = choices.get("model", "")
    chosen = [node for node, model in zip(nodes, models, strict=True) if model and meets("model", model, said)]
    if not chosen:
        several = "has to be chosen, the file has results of several: " + quoted(dict.fromkeys(models), 8)
        raise refuse("model", said or None, several)
    return chosen


def _known() -> str:
    return f"read are: {KNOWN}"


def _table(name: str, lines: Iterable[tuple[int, str]], choices: Choices) -> Results:
    """A CSV, by its header."""
    numbered = rows(lines)
    first = next((row for row in numbered if row[1]), None)
    if first is None:
        raise refuse(name, None, "is empty")
    if silicon.is_table(first[1]):
        return silicon.read(first, numbered, choices)
    if aiperf.is_table([first]):
        return aiperf.read_table([first, *_bounded(numbered)])
    ahead = list(islice(numbered, 2))
    if guidellm.is_table([first, *ahead]):
        return guidellm.read_table([first, *ahead, *_bounded(numbered)])
    if table.is_table(first[1]):
        return table.read(first, chain(ahead, numbered), choices)
    needs = "needs a column of lengths (tokens) and one of times (seconds, ttft_s, ttft_ms)"
    raise refuse(f"line {first[0]}", None, f"has the columns {quoted(first[1], 8)}; a profile {needs}; {_known()}")


def _bounded(numbered: Iterator[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    kept = list(islice(numbered, MOST_DOCUMENTS + 1))
    if len(kept) > MOST_DOCUMENTS:
        raise refuse(f"line {kept[-1][0]}", None, f"more than {MOST_DOCUMENTS} lines in a summary")
    return kept
