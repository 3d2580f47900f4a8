"""Settings. What differs between installations comes from the environment, through `portal.environment`."""

from __future__ import annotations

from datetime import timedelta

from csp.constants import NONCE, NONE, SELF

from portal import environment as env

ENVIRONMENT = env.read()
PRODUCTION = ENVIRONMENT.mode is env.Mode.PRODUCTION
BASE_DIR = env.ROOT

SECRET_KEY = ENVIRONMENT.secret_key
DEBUG = ENVIRONMENT.debug
ALLOWED_HOSTS = list(ENVIRONMENT.allowed_hosts) or ["127.0.0.1", "localhost", "testserver"]
ROOT_URLCONF = "portal.urls"
WSGI_APPLICATION = "portal.wsgi.application"

INSTALLED_APPS = [
    "portal",
    "inference",
    "mlops",
    "provisioning",
    "billing",
    "tenants",
    "core",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "guardian",
    "allauth",
    "allauth.account",
    "allauth.usersessions",
    "allauth.mfa",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "django_cotton",
    "lucide",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "portal.middleware.request_id.RequestIdMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "allauth.usersessions.middleware.UserSessionsMiddleware",
    "portal.middleware.plain_text.PlainTextMiddleware",
    "portal.middleware.scope.ScopeMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.web.shell.shell",
            ],
        },
    }
]

DATABASES = {"default": env.database(ENVIRONMENT.database_url)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STEELYARD_TENANT_MODEL = "tenants.Organization"

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static" / "src"]
STATIC_ROOT = ENVIRONMENT.state / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if ENVIRONMENT.mode is env.Mode.CHECK
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = ENVIRONMENT.mode is env.Mode.CHECK

# People and sessions
AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = [
    "allauth.account.auth_backends.AuthenticationBackend",
    "guardian.backends.ObjectPermissionBackend",
]
ANONYMOUS_USER_NAME = None
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_ADAPTER = "portal.accounts.InvitedOnlyAdapter"
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "login_failed": "10/m/ip,5/5m/key", "sso": "20/m/ip"}
USERSESSIONS_TRACK_ACTIVITY = True
USERSESSIONS_ADAPTER = "portal.accounts.AuditedSessionsAdapter"
MFA_ADAPTER = "portal.accounts.EncryptedFactorsAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_ALLOW_UNVERIFIED_EMAIL = True  # Nobody signs up here: an account begins with an invitation or with a provider.
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_RECOVERY_CODE_DIGITS = 10
MFA_TOTP_ISSUER = "Steelyard"
MFA_TOTP_TOLERANCE = 1
SESSION_COOKIE_AGE = int(timedelta(days=14).total_seconds())
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"

# Mail: by the installation's server, or kept as files in its state folder where none is named
EMAIL_BACKEND = (
    "django.core.mail.backends.smtp.EmailBackend" if ENVIRONMENT.mail.host else "portal.mail.PrivateFileBackend"
)
EMAIL_HOST = ENVIRONMENT.mail.host
EMAIL_PORT = ENVIRONMENT.mail.port
EMAIL_HOST_USER = ENVIRONMENT.mail.user
EMAIL_HOST_PASSWORD = ENVIRONMENT.mail.password
EMAIL_USE_TLS = ENVIRONMENT.mail.security == "starttls"
EMAIL_USE_SSL = ENVIRONMENT.mail.security == "tls"
EMAIL_TIMEOUT = 20
EMAIL_FILE_PATH = ENVIRONMENT.state / "mail"
DEFAULT_FROM_EMAIL = ENVIRONMENT.mail.sender

# Secrets in the database: the first key encrypts, all decrypt
FIELD_KEYS = env.field_keys(ENVIRONMENT)

# Browsers: a form may lead to a workspace's own origin, and nowhere else
WORKSPACE_ORIGINS = (
    f"https://*.{ENVIRONMENT.workspace_domain}"
    if PRODUCTION
    else f"http://*.{ENVIRONMENT.workspace_domain}:{ENVIRONMENT.proxy_port}"
)
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
CSRF_TRUSTED_ORIGINS = [ENVIRONMENT.portal_origin]
if PRODUCTION:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^health/", r"^metrics$"]
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = int(timedelta(days=365).total_seconds())
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SILENCED_SYSTEM_CHECKS = ["security.W021"]  # Preloading binds a whole domain for years: its owner's to decide.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF, WORKSPACE_ORIGINS],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

# API
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["portal.api.authentication.ScopedAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["portal.api.authentication.HasActor"],
    "DEFAULT_RENDERER_CLASSES": ["core.api.rendering.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["core.api.rendering.JsonParser"],
    "DEFAULT_SCHEMA_CLASS": "core.api.schema.DeclaredSchema",
    "EXCEPTION_HANDLER": "portal.api.problems.answer",
    "URL_FORMAT_OVERRIDE": None,  # `format` is a query field like any other
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Steelyard",
    "DESCRIPTION": "Governed, measured and billable AI services on GPU clusters.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "RoleEnum": "tenants.enums.Role",
        "PermissionEnum": "tenants.enums.Permission",
        "StateEnum": "provisioning.api.describing.STATES",
        "KindEnum": "provisioning.api.describing.KINDS",
        "VolumeStateEnum": "provisioning.api.describing.VOLUME_STATES",
        "NodeStandingEnum": "provisioning.api.nodes.STANDINGS",
        "ClusterStandingEnum": "provisioning.api.cluster_shapes.CLUSTER_STANDINGS",
        "DriftEnum": "provisioning.api.cluster_shapes.DRIFTS",
        "ClusterHealthEnum": "provisioning.api.cluster_shapes.CLUSTER_HEALTHS",
        "StandingEnum": "tenants.enums.Standing",
        "SkuKindEnum": "billing.enums.SkuKind",
        "GrantKindEnum": "billing.enums.GrantKind",
        "LedgerAccountEnum": "billing.enums.AccountKind",
        "InvoiceStateEnum": "billing.enums.InvoiceState",
        "AttemptOutcomeEnum": "provisioning.api.jobs.OUTCOMES",
        "InvitationStateEnum": "tenants.api.place_outputs.INVITATION_STATES",
        "ApprovalStateEnum": "tenants.enums.ApprovalState",
        "QuotaLevelEnum": "tenants.enums.QuotaLevel",
        "PolicyKindEnum": "tenants.enums.PolicyKind",
        "PolicyOriginEnum": "tenants.enums.PolicyOrigin",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "core.api.schema.add_components",
    ],
}
API_BODY_LIMIT_BYTES = 1_048_576
DATA_UPLOAD_MAX_MEMORY_SIZE = API_BODY_LIMIT_BYTES
API_RATE_LIMIT_PER_MINUTE = ENVIRONMENT.api_requests_per_minute
API_REFUSES_FLOATS = ENVIRONMENT.mode is env.Mode.CHECK

# Cache and tasks
CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": ENVIRONMENT.redis_url}}
CELERY_BROKER_URL = ENVIRONMENT.redis_url
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 60,
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
    "socket_timeout": 5,
    "socket_connect_timeout": 1,
}
CELERY_TASK_ROUTES = {"provisioning.*": {"queue": "provisioning"}, "*": {"queue": "default"}}
CELERY_BEAT_SCHEDULE = {
    "seal-audit": {"task": "core.seal_audit", "schedule": 1.0, "options": {"expires": 5}},
    "stream-audit": {"task": "core.stream_audit", "schedule": 2.0, "options": {"expires": 4}},
    "anchor-audit": {"task": "core.anchor_audit", "schedule": 900.0, "options": {"expires": 900}},
    "cut-audit": {"task": "core.cut_audit", "schedule": 3600.0, "options": {"expires": 3600}},
    "run-invoices": {"task": "billing.run_invoices", "schedule": 3600.0, "options": {"expires": 3600}},
    "sweep-invoices": {"task": "billing.sweep_invoices", "schedule": 600.0, "options": {"expires": 600}},
    "recheck-domains": {"task": "tenants.recheck_domains", "schedule": 3600.0, "options": {"expires": 3600}},
    "sweep-workloads": {"task": "provisioning.sweep_workloads", "schedule": 2.0, "options": {"expires": 4}},
    "sweep-runs": {"task": "provisioning.sweep_runs", "schedule": 60.0, "options": {"expires": 60}},
    "sweep-activity": {"task": "provisioning.sweep_activity", "schedule": 30.0, "options": {"expires": 30}},
    "sweep-strays": {"task": "provisioning.sweep_strays", "schedule": 60.0, "options": {"expires": 60}},
    "sweep-ledger": {"task": "provisioning.sweep_ledger", "schedule": 300.0, "options": {"expires": 300}},
    "sweep-volumes": {"task": "provisioning.sweep_volumes", "schedule": 300.0, "options": {"expires": 300}},
    "sweep-inventory": {"task": "provisioning.sweep_inventory", "schedule": 60.0, "options": {"expires": 60}},
    "sweep-queues": {"task": "provisioning.sweep_queues", "schedule": 60.0, "options": {"expires": 60}},
    "sweep-grounds": {"task": "provisioning.sweep_grounds", "schedule": 300.0, "options": {"expires": 300}},
    "sweep-clusters": {"task": "provisioning.sweep_clusters", "schedule": 60.0, "options": {"expires": 60}},
    "sweep-quotas": {"task": "provisioning.sweep_quotas", "schedule": 30.0, "options": {"expires": 30}},
    "expire-approvals": {"task": "tenants.expire_approvals", "schedule": 60.0, "options": {"expires": 60}},
    "sweep-invitations": {"task": "tenants.sweep_invitations", "schedule": 30.0, "options": {"expires": 30}},
    "sweep-letters": {"task": "tenants.sweep_letters", "schedule": 30.0, "options": {"expires": 30}},
    "sweep-grants": {"task": "tenants.sweep_grants", "schedule": 300.0, "options": {"expires": 300}},
}

# Workloads. Those of the local driver share the loopback network, so nothing is told there without a token.
STEELYARD = {
    "METRICS_ON_LOOPBACK": ENVIRONMENT.mode is not env.Mode.EMBEDDED,
    "STATE": ENVIRONMENT.state,
    "AUDIT_ANCHORS": ENVIRONMENT.audit_anchors or ENVIRONMENT.state / "audit-anchors.jsonl",
    "OUTGOING_NETWORKS": ENVIRONMENT.outgoing_networks,
    "DNS_SERVERS": ENVIRONMENT.dns_servers,
    "PORTAL_ORIGIN": ENVIRONMENT.portal_origin,
    "WORKSPACE_DOMAIN": ENVIRONMENT.workspace_domain,
    "WORKSPACE_SCHEME": "https" if PRODUCTION else "http",
    "PROXY_PORT": ENVIRONMENT.proxy_port,
    "WORKSPACE_PYTHON": ENVIRONMENT.workspace_python,
    "LOCAL_DRIVER_ALLOWED": not PRODUCTION,
    "LEASE": timedelta(seconds=30),
    "START_DEADLINE": timedelta(minutes=5),
    "STOP_DEADLINE": timedelta(minutes=2),
    "POLL_EVERY": timedelta(milliseconds=500),
    "ENTRY_CODE_LIFETIME": timedelta(seconds=30),
    "VOLUME_KEPT": timedelta(days=7),
    "IDLE_STOP_AFTER": timedelta(minutes=60),
    "MAXIMUM_LIFETIME": timedelta(hours=24),
    "WARN_BEFORE_STOP": timedelta(minutes=10),
    "EXTEND_BY": timedelta(hours=2),
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {  # Two lines for each task would bury everything else: sweeps come every two seconds.
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
    },
}
