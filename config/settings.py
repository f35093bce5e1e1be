"""Settings of the site. Safe by default; what an installation may change comes from the environment."""

import os
from pathlib import Path

import dj_database_url
from django.utils.csp import CSP

import planner
from config.environment import REPOSITORY, data_directory, flag, secret_key, text, words

BASE_DIR: Path = REPOSITORY
DATA_DIR = data_directory()
VERSION = planner.__version__

DEBUG = flag("DEBUG")
SECRET_KEY = secret_key(DATA_DIR)
ALLOWED_HOSTS = words("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = words("CSRF_TRUSTED_ORIGINS", [])
FORCE_SCRIPT_NAME = text("FORCE_SCRIPT_NAME").rstrip("/") or None

INSTALLED_APPS = [
    "servestatic",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "channels",
    "planner",
    "monitoring",
    "frontend",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- storage -----------------------------------------------------------------------------------------------------

DATABASES = {
    "default": dj_database_url.config(default=f"sqlite:///{DATA_DIR / 'planner.sqlite3'}", conn_health_checks=True),
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # IMMEDIATE: a transaction that reads and then writes would otherwise fail at once when another one writes.
    DATABASES["default"]["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 20}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The largest document is traffic from a trace, of up to 100,000 lengths each with its count for prompts, outputs and
# what a cache leaves of them: 7 MB. Files to import come by a way of their own and are never in memory.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 2**20
PREVIEW_MAX_BYTES = 16 * 10**6
UPLOAD_MAX_BYTES = int(text("UPLOAD_MAX_BYTES", str(8 * 10**9)))

# --- jobs --------------------------------------------------------------------------------------------------------

# With Redis: any number of workers and web processes. Without: one process that is both.
REDIS_URL = text("REDIS_URL")
JOB_HEARTBEAT_TIMEOUT_S = float(text("JOB_HEARTBEAT_TIMEOUT_S", "10"))
# A new installation simulates the case study under load by itself, so that its page is complete after a minute.
SIMULATE_AT_START = flag("PLANNER_SIMULATE_AT_START", "on")
CASE_STUDY_REQUESTS = int(text("PLANNER_CASE_STUDY_REQUESTS", "50000"))
CASE_STUDY_REPLICATIONS = int(text("PLANNER_CASE_STUDY_REPLICATIONS", "4"))
WORKER_CONCURRENCY = int(text("WORKER_CONCURRENCY", str(os.cpu_count() or 1)))

CELERY_BROKER_URL = REDIS_URL or "memory://localhost/"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.02}  # the default of a second is how long a job would wait
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True  # the job's row is the result
# Acknowledged at the end and one at a time, so that no worker holds back messages while another one is idle, and a
# worker that goes down returns what it has not finished. A second delivery finds the row claimed and does nothing.
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CONCURRENCY = WORKER_CONCURRENCY
CELERY_WORKER_POOL = "threads"  # prefork's daemonic processes may not have the child process that a job computes in
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

if REDIS_URL:
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "capacity": 1000},
        },
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "config.layers.ThreadSafeLayer", "CONFIG": {"capacity": 1000}}}

# --- telemetry ---------------------------------------------------------------------------------------------------

# Tokens for what is scraped, a file each: the database has only their names.
CREDENTIALS_DIR = Path(text("PLANNER_CREDENTIALS_DIR", str(DATA_DIR / "credentials")))
# Whether addresses may be scraped at which clouds tell a machine its secrets, and others of the same link.
SCRAPE_LINK_LOCAL = flag("PLANNER_SCRAPE_LINK_LOCAL")
# Under which address people reach us, for links in what is sent to others, as https://planner.example; none: no links.
PUBLIC_URL = text("PLANNER_PUBLIC_URL").rstrip("/")

# --- security ----------------------------------------------------------------------------------------------------

SECURE_CSP = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF, CSP.UNSAFE_INLINE],  # the chart library positions its elements by style attributes
    "img-src": [CSP.SELF, "data:", "blob:"],
    "connect-src": [CSP.SELF],  # covers a websocket to the same host and port
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
# The token is read from the page by our scripts, never from the cookie.
CSRF_COOKIE_HTTPONLY = True

# Set where a proxy in front ends TLS and sets X-Forwarded-Proto itself.
BEHIND_TLS = flag("BEHIND_TLS")
SESSION_COOKIE_SECURE = BEHIND_TLS
CSRF_COOKIE_SECURE = BEHIND_TLS
SECURE_SSL_REDIRECT = BEHIND_TLS
SECURE_HSTS_SECONDS = 31_536_000 if BEHIND_TLS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
# Whether the other names of its domain use TLS is not for this site to say.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"

# --- language, time, static files --------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
# Straight from the apps: no collectstatic step that somebody can forget. A browser asks each time and is answered
# 304 by the file's ETag, so an upgrade never mixes old modules with new ones.
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_AUTOREFRESH = DEBUG
SERVESTATIC_MAX_AGE = 0
SERVESTATIC_ALLOW_ALL_ORIGINS = False

# --- API ---------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["planner.api.parsers.DocumentParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.SessionAuthentication",
        "rest_framework.authentication.BasicAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticatedOrReadOnly"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination",
    "PAGE_SIZE": 50,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "planner.api.documents.exception_handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "PrfaaS Planner",
    "DESCRIPTION": "Capacity planning of cross-datacenter Prefill-as-a-Service deployments. All values in SI units.",
    "VERSION": VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {"JobKind": "planner.models.Job.Kind", "UploadKind": "planner.models.Upload.Kind"},
}

# --- logging: quiet, but errors are printed ----------------------------------------------------------------------

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        # Each replaces the handlers that Django installs; 4xx answers and a worker's farewell are no news.
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        "django.request": {"level": "ERROR"},
        "celery.app.trace": {"level": "ERROR"},
        "celery.worker.control": {"level": "ERROR"},
        "planner": {"level": "INFO"},
    },
}
