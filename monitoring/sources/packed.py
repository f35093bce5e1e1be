"""Compressed bodies, unpacked to a limit: a few kilobytes that would become gigabytes are refused before they do."""

from __future__ import annotations

import gzip
import io
import zlib

import cramjam

from monitoring.readings import Malformed, Unsupported

MOST_BYTES = 8 * 2**20
"""Of a message, unpacked. Ten thousand data points of OTLP with four attributes each are one megabyte."""
MOST_POINTS = 100_000
"""Points of one message; more are Malformed. Two bytes can be a point, which costs fifty times that once it is read."""


def plain(body: bytes) -> bytes:
    """`body`, if it is within MOST_BYTES; Malformed if not."""
    if len(body) > MOST_BYTES:
        raise Malformed(f"the message has {len(body)} bytes, more than {MOST_BYTES}: send smaller batches")
    return body


def gunzipped(body: bytes) -> bytes:
    """What was packed with gzip. Malformed if it is not gzip, is cut short, or is more than MOST_BYTES."""
    try:
        unpacked = gzip.GzipFile(fileobj=io.BytesIO(body)).read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise Malformed(f"the body is not whole gzip: {error}") from None
    if len(unpacked) > MOST_BYTES:
        raise Malformed(f"the message unpacks to more than {MOST_BYTES} bytes: send smaller batches")
    return unpacked


def unsnappied(body: bytes) -> bytes:
    """What was packed as one snappy block (not framed). Malformed if it is none, or is more than MOST_BYTES."""
    try:
        size = cramjam.snappy.decompress_raw_len(body)
        if size > MOST_BYTES:
            raise Malformed(f"the message unpacks to {size} bytes, more than {MOST_BYTES}: send smaller batches")
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise Malformed(f"the body is no snappy block: {error}") from None


def gunzipped_or_plain(body: bytes, content_encoding: str) -> bytes:
    """The body of a request with this Content-Encoding: gzip, identity or none. Unsupported if it is another."""
    encoding = content_encoding.strip().lower()
    if encoding not in ("", "identity", "gzip"):
        raise Unsupported(f"Content-Encoding {content_encoding[:80]!r} is not spoken here: send gzip, or none")
    return gunzipped(body) if encoding == "gzip" else plain(body)


def media_type(content_type: str) -> str:
    """`application/json` of `Application/JSON; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()
