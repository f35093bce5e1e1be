#!/usr/bin/env python
"""Every command of the planner: serve, evaluate, optimize, export and Django's own."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # Imported here: a job's child process imports this file again as __mp_main__ and must not load Django.
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
