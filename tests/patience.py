"""How long tests wait for what happens elsewhere: far longer than a quiet machine needs, as a busy one is not wrong."""

PATIENCE = 6
"""How many times as long as is enough on a quiet machine."""

UNTIL_ANSWER_S = 20 * PATIENCE
"""For one answer of a server, in seconds."""

UNTIL_SHOWN_MS = 10_000 * PATIENCE
"""For a page to show what the server has, in milliseconds."""

UNTIL_RESULT_MS = 60_000 * PATIENCE
"""For a page to show the result of a job that computes, in milliseconds."""
