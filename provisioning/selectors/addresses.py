"""Where a workload is reached from outside."""

from __future__ import annotations

from django.conf import settings


def origin_of(label: str) -> str:
    """`http://<label>.localhost:8001`, or `https://<label>.<WORKSPACE_DOMAIN>` in production."""
    house = settings.STEELYARD
    host = f"{label}.{house['WORKSPACE_DOMAIN']}"
    return f"https://{host}" if house["WORKSPACE_SCHEME"] == "https" else f"http://{host}:{house['PROXY_PORT']}"
