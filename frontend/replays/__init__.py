"""Replays of recorded windows: the form that asks for one, what was recorded, and what came of it."""
