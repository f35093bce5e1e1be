"""What we ship of others, or test with, is what it says it is, and calls nobody."""

import hashlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "frontend" / "static" / "vendor", ROOT / "tests" / "browser" / "vendor"]
LISTED = {folder: json.loads((folder / "vendor.json").read_text())["files"] for folder in FOLDERS}
FILES = [file | {"folder": folder} for folder, files in LISTED.items() for file in files]
# What makes a browser fetch something more than the file itself. A bare address in a comment or a namespace does not.
FETCHES = {
    ".css": re.compile(r"""@import|url\((?!\s*["']?(?:data:|\#))|sourceMappingURL"""),
    ".js": re.compile(r"sourceMappingURL|importScripts\("),
}


def ids(file: dict) -> str:
    return file["path"]


@pytest.mark.parametrize("file", FILES, ids=ids)
def test_a_vendored_file_has_the_checksum_that_is_written_down(file):
    assert hashlib.sha256((file["folder"] / file["path"]).read_bytes()).hexdigest() == file["sha256"]


@pytest.mark.parametrize("file", FILES, ids=ids)
def test_a_vendored_file_names_its_package_and_carries_its_licence(file):
    assert file["package"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", file["version"])
    assert (file["folder"] / file["licence_file"]).read_text().strip()


@pytest.mark.parametrize("file", FILES, ids=ids)
def test_a_vendored_file_makes_the_browser_fetch_nothing_else(file):
    path = file["folder"] / file["path"]
    assert not FETCHES[path.suffix].findall(path.read_text())


@pytest.mark.parametrize("folder", FOLDERS, ids=["shipped", "for tests"])
def test_nothing_else_lies_in_a_vendor_folder(folder):
    listed = {"vendor.json"} | {file[each] for file in LISTED[folder] for each in ("path", "licence_file")}
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == listed
