"""What axe finds amiss in a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_SOURCE = Axe().axe_script
_RUN = "axe.run({resultTypes: ['violations']}).then(found => found.violations)"


def violations(page: Page) -> list[dict[str, Any]]:
    """By rule, with the nodes that break it. What passes, some fifty kilobytes a page, stays in the browser."""
    page.evaluate(_SOURCE)
    found: list[dict[str, Any]] = page.evaluate(_RUN)
    return found
