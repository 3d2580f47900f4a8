"""The address of a workspace's own origin."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings


def origin_of(label: str) -> str:
    """`http://<label>.localhost:8001`, or `https://<label>.<WORKSPACE_DOMAIN>` in production."""
    house = settings.STEELYARD
    host = f"{label}.{house['WORKSPACE_DOMAIN']}"
    return f"https://{host}" if house["WORKSPACE_SCHEME"] == "https" else f"http://{host}:{house['PROXY_PORT']}"


def entry_url(label: str, code: str, path: str) -> str:
    """Where a one-time code is spent. It leads on to `path` at once."""
    return f"{origin_of(label)}/_steelyard/enter?{urlencode({'code': code, 'next': path})}"
