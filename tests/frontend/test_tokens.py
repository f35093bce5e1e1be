"""Colours are chosen in one place, and can be read in both themes (WCAG 2.2, AA)."""

import re
from pathlib import Path

import pytest

STATIC = Path(__file__).resolve().parents[2] / "frontend" / "static"
PAIRS = dict(
    re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\)", (STATIC / "css" / "tokens.css").read_text())
)  # fmt: skip
TEXT = (
    "ink", "ink-2", "accent", "danger", "ok", "warn", "stage-prfaas", "stage-link", "stage-pd-p", "stage-pd-d",
)  # fmt: skip
GROUNDS = ("surface", "paper", "sunken")


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second, theme):
    light, dark = sorted((luminance(PAIRS[name].split(", ")[theme]) for name in (first, second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("text", TEXT)
def test_text_stands_out_from_every_ground(text, ground, theme):
    assert contrast(text, ground, theme) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_controls_and_focus_stand_out(theme):
    assert contrast("on-accent", "accent", theme) >= 4.5
    for cell in ("map-low", "map-high", "map-beyond"):
        assert contrast("map-ink", cell, theme) >= 4.5
    for mark in ("rule-strong", "focus"):
        assert contrast(mark, "surface", theme) >= 3


@pytest.mark.parametrize("path", [*STATIC.glob("css/*.css"), *STATIC.glob("js/**/*.js")], ids=lambda path: path.name)
def test_no_colour_is_chosen_elsewhere(path):
    if path.name != "tokens.css":
        assert not re.findall(r"#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b", path.read_text())
