"""The site's own settings, with a stand-in for the mathematics: see `tests.stack.standin`."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.stack.standin.StandIn"]
# Checking a password takes a third of a second, on purpose; here nothing is kept from anybody.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
