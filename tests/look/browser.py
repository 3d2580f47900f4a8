"""A real browser on the showroom: what the screenshots and the tests share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from playwright.sync_api import Browser, Page, Playwright

from tests.look.showroom import ROOT

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


@dataclass(frozen=True, slots=True)
class View:
    width: int
    theme: Literal["light", "dark"]


WIDE, NARROW = 1440, 390
VIEWS = (View(WIDE, "light"), View(NARROW, "light"), View(WIDE, "dark"), View(NARROW, "dark"))


@contextmanager
def showroom() -> Iterator[str]:
    """The address of a showroom in a process of its own, so that its settings meet no others."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.look.showroom"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "The showroom did not start."
        yield address
    finally:
        process.terminate()
        process.wait(timeout=10)


@contextmanager
def chromium(playwright: Playwright) -> Iterator[Browser]:
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    try:
        yield browser
    finally:
        browser.close()


@contextmanager
def opened(browser: Browser, address: str, view: View) -> Iterator[Page]:
    """A page in a browser of its own: no cookies, no cache, no motion."""
    context = browser.new_context(
        viewport={"width": view.width, "height": 900},
        color_scheme=view.theme,
        reduced_motion="reduce",
        is_mobile=view.width == NARROW,
        has_touch=view.width == NARROW,
    )
    try:
        page = context.new_page()
        page.goto(address)
        yield page
    finally:
        context.close()
