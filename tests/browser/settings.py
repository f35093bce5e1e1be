"""The site's own settings, except that nobody waits for the checking of passwords."""

from config.settings import *  # noqa: F403
from tests.settings import PASSWORD_HASHERS as PASSWORD_HASHERS
