"""Samples and rollups: written by one writer, read by everybody."""
