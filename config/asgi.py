"""The site as one ASGI application: pages and API, websockets, and what runs beside them."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

http = get_asgi_application()

# These import models, which exist only after the line above.
from config.lifespan import lifespan  # noqa: E402
from monitoring.doors.viewing import live  # noqa: E402
from monitoring.doors.websocket import ingest  # noqa: E402
from planner.consumers import JobConsumer  # noqa: E402

# A proxy in front may pass on the path with its prefix or without.
websockets = [
    re_path(r"^(?:.*/)?ws/jobs/(?P<job_id>[0-9a-f-]{36})/$", JobConsumer.as_asgi()),
    re_path(r"^(?:.*/)?ws/live/$", live),  # type: ignore[arg-type]  # an application, no view
]

# Agents have no origin, which the validator of browsers' sockets would refuse: they have a token.
agents = re_path(r"^(?:.*/)?ws/ingest/$", ingest)  # type: ignore[arg-type]  # an application, no view
browsers = re_path(r"", AllowedHostsOriginValidator(URLRouter(websockets)))

application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": URLRouter([agents, browsers]),
        "lifespan": lifespan,
    }
)
