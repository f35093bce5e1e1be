"""Work of a known length in place of the optimisation, so that a test can kill it in the middle."""

import os

from django.apps import AppConfig

from tests.stack.work import steps

STEPS = int(os.environ.get("STANDIN_STEPS", "50"))


class StandIn(AppConfig):
    name = "tests.stack"
    label = "standin"

    def ready(self):
        from planner import tasks

        tasks.KINDS["optimize"] = tasks.Kind(
            problem=lambda given: (given["scenario"]["routing"]["threshold_tokens"], STEPS),
            function=steps,
            result=lambda given, problem, outcome: {"threshold_tokens": problem[0], "outcome": outcome},
        )
