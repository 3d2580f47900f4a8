"""One platform and one Chromium for all browser tests, gone after the last; what is missing is said in one line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.visitor import Visitor
from tests.look.browser import CHROMIUM, View, chromium
from tests.oidc import running_name_server
from tests.platform import Platform, running

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They share a platform: one worker runs them all (tests/order.py)."""
    for item in items:
        if HERE in item.path.parents:
            for mark in (pytest.mark.platform, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(420)):
                item.add_marker(mark)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        missing = f"{CHROMIUM} is missing: apt-get install chromium."
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright, chromium(playwright) as found:
        yield found


@pytest.fixture(scope="package")
def domain_records() -> dict[str, str]:
    """What the platform's name server says, as it stands at that moment."""
    return {}


@pytest.fixture(scope="package")
def platform(browser: Browser, domain_records: dict[str, str]) -> Iterator[Platform]:
    """It may call identity providers on this machine, and asks a name server on it."""
    with (
        running_name_server(domain_records) as names,
        running({"STEELYARD_OUTGOING_NETWORKS": "127.0.0.0/8", "STEELYARD_DNS_SERVERS": names}) as found,
    ):
        yield found


@pytest.fixture(scope="package")
def signed_in(platform: Platform) -> dict[str, Path]:
    """Kept sessions by name, so that a person signs in once and no test meets the throttle of another."""
    return {}


@pytest.fixture
def visit(browser: Browser, platform: Platform, signed_in: dict[str, Path]) -> Iterator[Callable[..., Visitor]]:
    """`visit("alice")`: her browser, signed in; `visit("alice", fresh=True)`: a session of its own;
    `visit()`: a stranger's. `view` chooses width and theme."""
    with ExitStack() as stack:

        def enter(name: str = "", *, fresh: bool = False, view: View | None = None) -> Visitor:
            visitor = Visitor.enter(browser, platform, name, kept={} if fresh else signed_in, view=view)
            stack.callback(visitor.leave)
            return visitor

        yield enter
