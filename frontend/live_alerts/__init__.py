"""Alerts, their rules, silences, receivers and hooks as forms and rows."""
