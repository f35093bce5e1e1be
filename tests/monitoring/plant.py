"""python -m tests.monitoring.plant: the brown-out and its watch in an installation's database; prints both."""

import django

django.setup()

from tests.monitoring import brown_out  # noqa: E402 - models are there once Django is

start_ms = brown_out.begun_ms()
brown_out.store(start_ms)
brown_out.watched()
print(brown_out.WATCH, start_ms, start_ms + round(1000 * brown_out.DURATION_S))  # noqa: T201 - who started it reads it
