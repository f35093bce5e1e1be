"""python -m tests.monitoring.plant: the brown-out and its watch in an installation's database; prints when it began."""

import django

django.setup()

from tests.monitoring import brown_out  # noqa: E402 - models are there once Django is

start_ms = brown_out.begun_ms()
brown_out.store(start_ms)
brown_out.watched()
print(start_ms)  # noqa: T201 - the test that started it reads it
