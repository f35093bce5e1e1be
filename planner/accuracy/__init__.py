"""Predictions held against measurements: the published case study, and stored runs against profile and scenario."""
