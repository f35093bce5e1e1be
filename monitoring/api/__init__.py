"""REST of the monitor: sources, series, values."""
