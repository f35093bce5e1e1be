"""The Celery application: the memory broker and a worker thread here, or Redis and any number of workers."""

import os
import threading
from typing import Any

from celery import Celery, signals
from celery.worker import WorkController

from planner import process

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

READY_WITHIN_S = 20
STOPPED_WITHIN_S = 5

app = Celery("planner")
# Threads of a pool look for the default app; without this they find an empty one and never run a task.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["planner"])


@signals.worker_init.connect  # type: ignore[untyped-decorator]
def make_ready(**_: Any) -> None:
    """The first job, too, finds NumPy and SciPy loaded, and the start of the worker does not wait for them."""
    threading.Thread(target=process.make_ready, daemon=True).start()


@signals.worker_shutting_down.connect  # type: ignore[untyped-decorator]
def hand_back_jobs(**_: Any) -> None:
    """A worker that is asked to stop does not wait for the end of its jobs: another one continues."""
    from planner import jobs  # the models exist only after Django's set-up

    jobs.stopping.set()


class EmbeddedWorker:
    """A Celery worker in a thread of this process, for the memory broker."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._ready = threading.Event()
        # A daemon, so that a start that fails half-way does not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="celery-worker", daemon=True)

    def start(self) -> None:
        """Returns when the worker listens to the broker."""
        self._thread.start()
        if not self._ready.wait(READY_WITHIN_S):
            raise RuntimeError("The embedded Celery worker did not start; the reason is above.")

    def stop(self) -> None:
        """End the worker; its jobs must have been told to stop before."""
        app.control.shutdown()
        self._thread.join(STOPPED_WITHIN_S)

    def _run(self) -> None:
        WorkController(
            app=app,
            pool="threads",
            concurrency=self._concurrency,
            hostname=f"embedded-{os.getpid()}@localhost",
            ready_callback=lambda _: self._ready.set(),
            without_heartbeat=True,
            without_mingle=True,
            without_gossip=True,
        ).start()
