"""Catalogue entries: one document a thing, of six kinds. `check` is the one gate through which all of them come."""

from planner.entries.checking import KINDS, Kind, check, check_naming

__all__ = ["KINDS", "Kind", "check", "check_naming"]
