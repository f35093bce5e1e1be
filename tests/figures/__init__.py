"""Figures of the documentation, each module a command that prints them and draws its plots."""
