"""The site's own settings for tests in this process: none of them waits for what only a server at work needs."""

from config.settings import *  # noqa: F403
from config.settings import MIDDLEWARE

# Each client would look for every static file anew, and go through a thread for each request.
MIDDLEWARE = [each for each in MIDDLEWARE if each != "servestatic.middleware.ServeStaticMiddleware"]
# Checking a password takes a third of a second, on purpose; here nothing is kept from anybody.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
