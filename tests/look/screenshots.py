"""Takes pictures of every page, both widths and both themes: `python -m tests.look.screenshots FOLDER [page …]`."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.look.browser import VIEWS, chromium, opened, showroom
from tests.look.pages import WHOLE


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with showroom() as origin, sync_playwright() as playwright, chromium(playwright) as browser:
        for view in VIEWS:
            for name in names or WHOLE:
                with opened(browser, f"{origin}/{name}", view) as page:
                    page.screenshot(path=folder / f"{name}-{view.width}-{view.theme}.png", full_page=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
