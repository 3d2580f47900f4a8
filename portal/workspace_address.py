"""The addresses at a workspace's own origin that people are led to."""

from __future__ import annotations

from urllib.parse import urlencode

from provisioning.selectors.addresses import origin_of


def entry_url(label: str, code: str, path: str) -> str:
    """Where a one-time code is spent. It leads on to `path` at once."""
    return f"{origin_of(label)}/_steelyard/enter?{urlencode({'code': code, 'next': path})}"
