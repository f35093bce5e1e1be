"""What we ship of others is what it says it is, and calls nobody."""

import hashlib
import json
import re
from pathlib import Path

import pytest

VENDOR = Path(__file__).resolve().parents[2] / "frontend" / "static" / "vendor"
FILES = json.loads((VENDOR / "vendor.json").read_text())["files"]
# What makes a browser fetch something more than the file itself. A bare address in a comment or a namespace does not.
FETCHES = {
    ".css": re.compile(r"""@import|url\((?!\s*["']?(?:data:|\#))|sourceMappingURL"""),
    ".js": re.compile(r"sourceMappingURL|importScripts\("),
}


def ids(file: dict) -> str:
    return file["path"]


@pytest.mark.parametrize("file", FILES, ids=ids)
def test_a_vendored_file_has_the_checksum_that_is_written_down(file):
    assert hashlib.sha256((VENDOR / file["path"]).read_bytes()).hexdigest() == file["sha256"]


@pytest.mark.parametrize("file", FILES, ids=ids)
def test_a_vendored_file_names_its_package_and_carries_its_licence(file):
    assert file["package"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", file["version"])
    assert (VENDOR / file["licence_file"]).read_text().strip()


@pytest.mark.parametrize("file", FILES, ids=ids)
def test_a_vendored_file_makes_the_browser_fetch_nothing_else(file):
    path = VENDOR / file["path"]
    assert not FETCHES[path.suffix].findall(path.read_text())


def test_nothing_else_lies_in_the_vendor_folder():
    listed = {"vendor.json"} | {file["path"] for file in FILES} | {file["licence_file"] for file in FILES}
    assert {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()} == listed
