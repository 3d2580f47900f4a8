"""Every page, as a browser with our content security policy shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.look import axe
from tests.look.browser import NARROW, WIDE, View, chromium, opened, showroom
from tests.look.pages import PAGES, WHOLE

pytestmark = pytest.mark.browser

VIEWS = (View(WIDE, "light"), View(NARROW, "dark"))


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with showroom() as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, chromium(playwright) as browser:
        yield browser


@dataclass(frozen=True, slots=True)
class Tab:
    """Where page after page is shown: a browser's new process costs more than a page."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def show(self, address: str) -> None:
        self.complaints.clear()
        self.page.goto(address)


@pytest.fixture(scope="module")
def tabs(browser: Browser) -> Iterator[Mapping[View, Tab]]:
    with ExitStack() as stack:
        found = {view: Tab(stack.enter_context(opened(browser, "about:blank", view))) for view in VIEWS}
        for tab in found.values():
            _listen(tab)
        yield found


def _listen(tab: Tab) -> None:
    tab.page.on("console", lambda message: tab.complaints.append(message.text) if message.type == "error" else None)
    tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))


def violations(page: Page) -> list[str]:
    return [
        f"{item['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for item in axe.violations(page)
        for node in item["nodes"]
    ]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: f"{view.width}-{view.theme}")
@pytest.mark.parametrize("name", WHOLE)
class TestEveryPage:
    def test_is_accessible_fits_the_screen_and_keeps_the_policy(
        self, tabs: Mapping[View, Tab], origin: str, name: str, view: View
    ) -> None:
        tab = tabs[view]
        tab.show(f"{origin}/{name}")

        overflow = tab.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        expected = [
            text for text in tab.complaints if PAGES[name].status >= 400 and "the server responded with" in text
        ]

        assert violations(tab.page) == []
        assert overflow <= 0
        assert [text for text in tab.complaints if text not in expected] == []


class TestDialogs:
    @pytest.mark.parametrize("view", VIEWS, ids=lambda view: f"{view.width}-{view.theme}")
    def test_an_open_dialog_is_accessible(self, browser: Browser, origin: str, view: View) -> None:
        with opened(browser, f"{origin}/workload", view) as page:
            page.get_by_role("button", name="Stop").click()

            expect(page.get_by_role("dialog", name="Stop segmentation-notes?")).to_be_visible()
            assert violations(page) == []

    def test_esc_closes_it_and_gives_the_focus_back(self, browser: Browser, origin: str) -> None:
        with opened(browser, f"{origin}/workload", View(WIDE, "light")) as page:
            page.get_by_role("button", name="Delete").click()
            page.keyboard.press("Escape")

            expect(page.locator("dialog[open]")).to_have_count(0)
            assert page.evaluate("document.activeElement.id") == "delete-button"


class TestMenus:
    def test_open_by_key_step_with_arrows_and_close_with_esc(self, browser: Browser, origin: str) -> None:
        with opened(browser, f"{origin}/home", View(WIDE, "light")) as page:
            page.locator("#where > summary").focus()
            page.keyboard.press("ArrowDown")
            first = page.evaluate("document.activeElement.textContent.trim()")
            page.keyboard.press("ArrowDown")
            second = page.evaluate("document.activeElement.textContent.trim()")
            page.keyboard.press("Escape")

            assert (first, second) == ("vision", "language")
            expect(page.locator("#where[open]")).to_have_count(0)
            assert page.evaluate("document.activeElement.tagName") == "SUMMARY"

    def test_close_when_one_clicks_elsewhere(self, browser: Browser, origin: str) -> None:
        with opened(browser, f"{origin}/home", View(WIDE, "light")) as page:
            page.locator("#person > summary").click()
            page.locator("h1").click()

            expect(page.locator("#person[open]")).to_have_count(0)

    @pytest.mark.parametrize("view", VIEWS, ids=lambda view: f"{view.width}-{view.theme}")
    def test_open_menus_are_accessible(self, browser: Browser, origin: str, view: View) -> None:
        with opened(browser, f"{origin}/home", view) as page:
            page.locator("#person > summary").click()
            assert violations(page) == []
            page.locator("#where > summary").click()
            assert violations(page) == []
            if view.width == NARROW:
                page.locator(".foot summary").click()
                expect(page.locator(".foot .list")).to_be_visible()
                assert violations(page) == []


class TestTheme:
    def test_a_chosen_theme_is_in_the_page_that_the_server_sends(self, browser: Browser, origin: str) -> None:
        with opened(browser, f"{origin}/home", View(WIDE, "light")) as page:
            page.locator("#person > summary").click()
            page.get_by_role("button", name="Dark").click()
            answer = page.goto(f"{origin}/usage")

            assert answer is not None
            assert '<html lang="en" data-theme="dark">' in answer.text()
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 18, 21)"

    def test_the_systems_theme_comes_back(self, browser: Browser, origin: str) -> None:
        with opened(browser, f"{origin}/home", View(WIDE, "light")) as page:
            page.locator("#person > summary").click()
            page.get_by_role("button", name="Dark").click()
            page.get_by_role("button", name="System").click()
            page.reload()

            assert page.evaluate("document.documentElement.dataset.theme") is None


class TestLiveParts:
    def test_an_update_keeps_focus_nodes_and_place(self, browser: Browser, origin: str) -> None:
        with opened(browser, f"{origin}/workload", View(WIDE, "light")) as page:
            fresh = page.request.get(f"{origin}/workload/head").text().replace("Running", "Stopping")
            page.route("**/workload/head", lambda route: route.fulfill(body=fresh, content_type="text/html"))
            page.locator("#stop-button").focus()
            page.evaluate("document.querySelector('#stop-button').mark = true; window.scrollTo(0, 20)")

            page.locator("#head", has_text="Stopping").wait_for(timeout=8000)

            assert page.evaluate("document.activeElement.id") == "stop-button"
            assert page.evaluate("document.querySelector('#stop-button').mark") is True
            assert page.evaluate("document.querySelectorAll('#head').length") == 1

    def test_goes_on_asking_with_the_etag_that_it_knows(self, browser: Browser, origin: str) -> None:
        with opened(browser, f"{origin}/workload", View(WIDE, "light")) as page:
            answers: list[int] = []
            page.on("response", lambda answer: answers.append(answer.status) if answer.url.endswith("/head") else None)

            page.wait_for_timeout(6500)

            assert answers[0] == 200
            assert set(answers[1:]) == {304}

    def test_a_dialog_stays_open_while_the_page_updates(self, browser: Browser, origin: str) -> None:
        with opened(browser, f"{origin}/workload", View(WIDE, "light")) as page:
            page.locator("#stop-button").click()
            with page.expect_response("**/workload/head"):
                pass

            assert page.locator("#stop-dialog[open]").count() == 1

    def test_one_that_cannot_be_updated_says_so(self, browser: Browser, origin: str) -> None:
        with opened(browser, f"{origin}/workload", View(WIDE, "light")) as page:
            page.route("**/workload/head", lambda route: route.abort())

            page.wait_for_selector("#head.stale", timeout=8000)

            expect(page.locator(".toast")).to_have_count(0)


class TestForms:
    def test_a_double_click_sends_once(self, browser: Browser, origin: str) -> None:
        with opened(browser, f"{origin}/launch", View(WIDE, "light")) as page:
            sent: list[str] = []
            page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
            page.route("**/launch", lambda route: route.fulfill(status=204))  # The page stays.
            page.evaluate("const b = document.querySelector('#launch-button'); b.click(); b.click()")
            page.wait_for_timeout(300)

            assert len(sent) == 1
            assert page.locator("#launch-button").inner_text() == "Launching…"

    def test_the_panel_answers_while_one_types_without_the_secrets(self, browser: Browser, origin: str) -> None:
        with (
            opened(browser, f"{origin}/launch", View(WIDE, "light")) as page,
            page.expect_request("**/launch/panel?*") as asked,
        ):
            page.get_by_label("Disk, GiB").fill("80")

        assert "disk_gib=80" in asked.value.url
        assert "shape=h100-1" in asked.value.url
        assert "csrf" not in asked.value.url
        assert "idempotency" not in asked.value.url


class TestToasts:
    def test_come_by_header_and_can_be_closed(self, browser: Browser, origin: str) -> None:
        with opened(browser, f"{origin}/launch", View(WIDE, "light")) as page:
            panel = page.request.get(f"{origin}/launch/panel").text()
            head = {"HX-Trigger": '{"toast": {"tone": "bad", "text": "The name is taken."}}'}
            page.route(
                "**/launch/panel?*", lambda route: route.fulfill(body=panel, headers=head, content_type="text/html")
            )
            page.get_by_label("Name").fill("other")

            page.wait_for_selector(".toast.bad", timeout=5000)
            assert page.locator(".toast").inner_text() == "The name is taken."
            assert violations(page) == []
            page.locator(".toast button").click()
            expect(page.locator(".toast")).to_have_count(0)
