"""The site's own settings, with a stand-in for the mathematics: see `tests.stack.standin`."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS
from tests.settings import PASSWORD_HASHERS as PASSWORD_HASHERS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.stack.standin.StandIn"]
