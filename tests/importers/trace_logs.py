"""Small request logs in the shapes that people have."""

import json

import pytest

from planner.documents.errors import DocumentError
from planner.importers import traces

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
BURST = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
PLAIN = "arrival_s,input_tokens,output_tokens\n"


def write(tmp_path, content, name="log"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def mooncake(rows=3, **others):
    return [
        {"timestamp": 1000 * row, "input_length": 600, "output_length": 5, "hash_ids": [1, row + 2]} | others
        for row in range(rows)
    ]


def inspected(tmp_path, content, choices=None):
    return traces.inspect(write(tmp_path, content), choices or {})


def chunks(tmp_path, content, choices=None):
    return list(traces.open_trace(write(tmp_path, content), choices or {}).chunks())


def refused(tmp_path, content, choices=None):
    with pytest.raises(DocumentError) as caught:
        inspected(tmp_path, content, choices)
    return str(caught.value)
