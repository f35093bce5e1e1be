"""Frames of the websocket: our envelope, Telegraf's JSON or Vector's, told apart by the fields that each must have."""

from __future__ import annotations

import msgspec

from monitoring.readings import Malformed
from monitoring.sources import envelope, telegraf, vector
from monitoring.sources.envelope import LONGEST_REASON, Message


class _Peek(msgspec.Struct):
    v: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    metrics: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    fields: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    metric: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    kind: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_peek = msgspec.json.Decoder(_Peek)
SPOKEN = "our envelope (v), Telegraf's JSON (metrics, or name and fields) or Vector's (name and kind)"


def decode(body: bytes | str, now_ms: int) -> Message:
    """The readings of a frame. Raises Malformed."""
    try:
        found = _peek.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Malformed(f"is no JSON object: {str(problem)[:LONGEST_REASON]}") from None
    if found.v is not msgspec.UNSET:
        return envelope.decode(body)
    if found.metrics is not msgspec.UNSET:
        return telegraf.decode_batch(body)
    if found.fields is not msgspec.UNSET:
        return telegraf.decode_one(body)
    if isinstance(found.metric, msgspec.Raw):
        return vector.decode(bytes(found.metric), now_ms)
    if found.kind is not msgspec.UNSET:
        return vector.decode(body, now_ms)
    raise Malformed(f"is of no format that is spoken here: {SPOKEN}")
