"""Whether this process lives, whether it can serve, and its figures for a monitoring system."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from ipaddress import ip_address

import psycopg
import redis
import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from core.api.rendering import JSON, dumps
from core.routes import ANONYMOUS, route

PATIENCE_SECONDS = 2
log = structlog.get_logger(__name__)
_seen_migrated: set[str] = set()


@require_safe
@route(permission=ANONYMOUS, verb="health.viewed", scoped=False)
def live(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(dumps({"status": "live"}), content_type=JSON)


@require_safe
@route(permission=ANONYMOUS, verb="health.viewed", scoped=False)
def ready(_request: HttpRequest) -> HttpResponse:
    """503 names the part that fails; why stands in the log only."""
    parts = {"database": _works(_database), "broker": _works(_broker)}
    parts["migrations"] = parts["database"] and _works(_migrations)
    fit = all(parts.values())
    body = {
        "status": "ready" if fit else "not_ready",
        "parts": {name: "ok" if works else "failing" for name, works in parts.items()},
    }
    headers = {"Cache-Control": "no-store"}
    return HttpResponse(dumps(body), status=200 if fit else 503, content_type=JSON, headers=headers)


@require_safe
@route(permission=ANONYMOUS, verb="metrics.viewed", scoped=False)
def metrics(request: HttpRequest) -> HttpResponse:
    """For this machine itself (where no workspace shares its network), or with the installation's metrics token."""
    trusted = settings.STEELYARD["METRICS_ON_LOOPBACK"] and _from_this_machine(request)
    if not (trusted or _with_token(request)):
        return HttpResponse(status=404)
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)


def _works(check: Callable[[], None]) -> bool:
    try:
        check()
    except Exception as error:  # any failure means the same: not ready
        log.warning("not_ready", part=check.__name__.strip("_"), error=str(error))
        return False
    return True


def _database() -> None:
    """By a connection of its own, so that a pool that waits does not make the question wait."""
    with psycopg.connect(settings.ENVIRONMENT.database_url, connect_timeout=PATIENCE_SECONDS) as own:
        own.execute("SELECT 1")


def _broker() -> None:
    patience = {"socket_timeout": PATIENCE_SECONDS, "socket_connect_timeout": PATIENCE_SECONDS}
    with redis.Redis.from_url(settings.CELERY_BROKER_URL, **patience) as broker:
        broker.ping()


def _migrations() -> None:
    """Once all are there they stay: asked until then only."""
    if "all" in _seen_migrated:
        return
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        raise DatabaseError(f"{len(missing)} migrations are not applied.")
    _seen_migrated.add("all")


def _from_this_machine(request: HttpRequest) -> bool:
    """A proxy on this machine speaks for others and says so by a header."""
    forwarded = request.headers.get("X-Forwarded-For") or request.headers.get("Forwarded")
    try:
        return not forwarded and ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _with_token(request: HttpRequest) -> bool:
    wanted = settings.ENVIRONMENT.metrics_token
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return bool(wanted) and hmac.compare_digest(given.encode(), wanted.encode())
