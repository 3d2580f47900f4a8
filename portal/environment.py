"""The environment, read once, typed, at boot. A value that cannot be meant stops the start with one clear line."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

ROOT = Path(__file__).resolve().parent.parent
DEMO_SECRET = "insecure-for-checks-only"


class Mode(StrEnum):
    """`embedded`: `make up` on one machine; `production`: containers or hosts; `check`: linting, tests, schema."""

    EMBEDDED = "embedded"
    PRODUCTION = "production"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class Mail:
    """The installation's mail server. No host: letters are kept as files. `security`: starttls, tls or none."""

    host: str
    port: int
    user: str
    password: str
    security: str
    sender: str


@dataclass(frozen=True, slots=True)
class Environment:
    mode: Mode
    secret_key: str
    debug: bool
    database_url: str
    redis_url: str
    state: Path
    portal_origin: str
    proxy_port: int
    workspace_domain: str
    workspace_python: Path
    field_key: str
    former_field_keys: tuple[str, ...]
    outgoing_networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]
    dns_servers: tuple[str, ...]
    allowed_hosts: tuple[str, ...]
    metrics_token: str
    audit_anchors: Path | None
    api_requests_per_minute: int
    mail: Mail


def read(variables: Mapping[str, str] = os.environ) -> Environment:
    """The settings of this process. Raises ImproperlyConfigured where production would be unsafe."""
    port = _integer(variables, "STEELYARD_PORT", 8000)
    environment = Environment(
        mode=_mode(variables.get("STEELYARD_ENVIRONMENT", Mode.CHECK)),
        secret_key=variables.get("STEELYARD_SECRET_KEY", DEMO_SECRET),
        debug=variables.get("STEELYARD_DEBUG", "") == "1",
        database_url=variables.get("DATABASE_URL", "postgresql://steelyard@127.0.0.1:5432/steelyard"),
        redis_url=variables.get("REDIS_URL", "redis://127.0.0.1:6379/0"),
        state=Path(variables.get("STEELYARD_STATE", ROOT / "var")),
        portal_origin=variables.get("STEELYARD_PORTAL_ORIGIN", f"http://127.0.0.1:{port}").rstrip("/"),
        proxy_port=_integer(variables, "STEELYARD_PROXY_PORT", port + 1),
        workspace_domain=variables.get("WORKSPACE_DOMAIN", "localhost"),
        workspace_python=Path(variables.get("STEELYARD_WORKSPACE_PYTHON", ROOT / ".venv-workspace" / "bin" / "python")),
        field_key=variables.get("STEELYARD_FIELD_KEY", ""),
        former_field_keys=_words(variables, "STEELYARD_FORMER_FIELD_KEYS"),
        outgoing_networks=_networks(variables, "STEELYARD_OUTGOING_NETWORKS"),
        dns_servers=_words(variables, "STEELYARD_DNS_SERVERS"),
        allowed_hosts=_words(variables, "STEELYARD_ALLOWED_HOSTS"),
        metrics_token=variables.get("STEELYARD_METRICS_TOKEN", ""),
        audit_anchors=Path(variables["STEELYARD_AUDIT_ANCHORS"]) if variables.get("STEELYARD_AUDIT_ANCHORS") else None,
        api_requests_per_minute=_count(variables, "STEELYARD_API_REQUESTS_PER_MINUTE", 1200),
        mail=_mail(variables),
    )
    if environment.mode is not Mode.CHECK:
        _refuse_unsafe(environment)
    return environment


def database(url: str) -> dict[str, object]:
    """Django's words for a PostgreSQL address, with a small connection pool and no server-side state kept."""
    parts = urlsplit(url)
    asked = dict(parse_qsl(parts.query))
    if parts.scheme not in ("postgres", "postgresql"):
        raise ImproperlyConfigured(f"DATABASE_URL must be a postgresql:// address, not {parts.scheme}://.")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": parts.port or "",
        "CONN_MAX_AGE": 0,
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": asked | {"prepare_threshold": None, "pool": {"min_size": 1, "max_size": 8, "timeout": 10}},
    }


def _mail(variables: Mapping[str, str]) -> Mail:
    security = variables.get("EMAIL_SECURITY", "starttls")
    if security not in ("starttls", "tls", "none"):
        raise ImproperlyConfigured(f"EMAIL_SECURITY must be starttls, tls or none, not {security!r}.")
    return Mail(
        host=variables.get("EMAIL_HOST", ""),
        port=_integer(variables, "EMAIL_PORT", 465 if security == "tls" else 587),
        user=variables.get("EMAIL_USER", ""),
        password=variables.get("EMAIL_PASSWORD", ""),
        security=security,
        sender=variables.get("EMAIL_FROM", "Steelyard <steelyard@localhost>"),
    )


def _words(variables: Mapping[str, str], name: str) -> tuple[str, ...]:
    """A list with commas."""
    return tuple(word.strip() for word in variables.get(name, "").split(",") if word.strip())


def _networks(variables: Mapping[str, str], name: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    try:
        return tuple(ipaddress.ip_network(word) for word in _words(variables, name))
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} must be networks such as 10.20.0.0/16, separated by commas, not {variables[name]!r}."
        ) from None


def field_keys(environment: Environment) -> list[str]:
    """The first encrypts, all decrypt. Where an evaluation has no key of its own, one that follows from its secret."""
    of_the_secret = base64.urlsafe_b64encode(hashlib.sha256(environment.secret_key.encode()).digest()).decode()
    return [environment.field_key or of_the_secret, *environment.former_field_keys]


def _mode(word: str) -> Mode:
    try:
        return Mode(word)
    except ValueError:
        raise ImproperlyConfigured(f"STEELYARD_ENVIRONMENT must be one of {', '.join(Mode)}, not {word!r}.") from None


def _integer(variables: Mapping[str, str], name: str, default: int) -> int:
    word = variables.get(name, str(default))
    if not word.isdigit() or not 0 < int(word) < 65536:
        raise ImproperlyConfigured(f"{name} must be a port number between 1 and 65535, not {word!r}.")
    return int(word)


def _count(variables: Mapping[str, str], name: str, default: int) -> int:
    word = variables.get(name, str(default))
    if not word.isdigit() or not 0 < int(word) < 10**9:
        raise ImproperlyConfigured(f"{name} must be a whole number above 0, not {word!r}.")
    return int(word)


def _refuse_unsafe(environment: Environment) -> None:
    if environment.secret_key == DEMO_SECRET or len(environment.secret_key) < 32:
        raise ImproperlyConfigured("STEELYARD_SECRET_KEY must be a secret of at least 32 characters, yours alone.")
    if environment.field_key and not _is_field_key(environment.field_key):
        raise ImproperlyConfigured("STEELYARD_FIELD_KEY must be 32 bytes in URL-safe base64.")
    if not all(_is_field_key(key) for key in environment.former_field_keys):
        raise ImproperlyConfigured("STEELYARD_FORMER_FIELD_KEYS must each be 32 bytes in URL-safe base64.")
    if environment.mode is not Mode.PRODUCTION:
        return
    if environment.debug:
        raise ImproperlyConfigured("STEELYARD_DEBUG shows secrets to visitors: unset it in production.")
    if not environment.allowed_hosts or any("*" in host or host == "." for host in environment.allowed_hosts):
        raise ImproperlyConfigured(
            "STEELYARD_ALLOWED_HOSTS must name the portal's hosts in production, without a wildcard."
        )
    if not environment.portal_origin.startswith("https://"):
        raise ImproperlyConfigured("STEELYARD_PORTAL_ORIGIN must be an https:// address in production.")
    if not _is_field_key(environment.field_key):
        raise ImproperlyConfigured("STEELYARD_FIELD_KEY must be 32 bytes in URL-safe base64 in production.")
    if _share_cookies(environment.workspace_domain, urlsplit(environment.portal_origin).hostname or ""):
        raise ImproperlyConfigured(
            "WORKSPACE_DOMAIN must be a domain of its own in production, neither above nor below the portal's."
        )


def _is_field_key(word: str) -> bool:
    try:
        return len(base64.b64decode(word, altchars=b"-_", validate=True)) == 32
    except ValueError:
        return False


def _share_cookies(domain: str, portal: str) -> bool:
    """Whether a page of one could set cookies for the other; `localhost` is nobody's in production."""
    one, other = f".{domain.lower()}", f".{portal.lower()}"
    return domain in ("", "localhost") or one.endswith(other) or other.endswith(one)
