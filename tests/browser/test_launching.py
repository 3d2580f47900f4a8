"""The launch form under impatient, doubled and immodest use, and by every kind of hand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.look.browser import NARROW, View

WORKSPACE = re.compile("/workspaces/[0-9a-f-]{36}$")


@pytest.fixture
def charlie(visit, platform):
    """In an organisation of his own, so that counts are exact; what he made is gone afterwards."""
    visitor = visit("charlie")
    yield visitor
    with platform.api("charlie") as api:
        for found in api.get("workloads").json()["results"]:
            api.delete(f"workloads/{found['id']}")


def names_of(platform, person: str) -> list[str]:
    with platform.api(person) as api:
        return sorted(found["name"] for found in api.get("workloads").json()["results"] if found["state"] != "deleting")


def fill(page: Page, name: str, *, shape: str = "CPU, 4 cores") -> None:
    page.get_by_role("radio", name=shape).check()
    page.get_by_label("Name").fill(name)


class TestOnce:
    def test_a_double_click_on_launch_makes_one_workload(self, charlie, platform):
        charlie.go("/launch")
        fill(charlie.page, "clicked-twice")
        expect(charlie.page.locator("#panel .note")).to_contain_text("Starts now")

        charlie.page.get_by_role("button", name="Launch", exact=True).dblclick()
        charlie.page.wait_for_url(WORKSPACE)

        assert names_of(platform, "charlie").count("clicked-twice") == 1

    def test_the_same_form_sent_again_leads_to_the_same_workload(self, charlie, platform):
        page = charlie.page
        charlie.go("/launch")
        fill(page, "sent-again")
        key = page.locator("[name=idempotency_key]").get_attribute("value")
        values = page.evaluate("Object.fromEntries(new FormData(document.getElementById('launch')))")
        sent = [
            charlie.context.request.post(
                f"{platform.portal}/launch", form=values, headers=_own(platform), max_redirects=0
            )
            for _ in range(2)
        ]

        assert key
        assert [answer.status for answer in sent] == [302, 302]
        assert sent[0].headers["location"] == sent[1].headers["location"]
        assert names_of(platform, "charlie").count("sent-again") == 1

    def test_two_tabs_propose_the_same_name_and_make_one(self, charlie, platform):
        first, second = charlie.page, charlie.context.new_page()
        for tab in (first, second):
            tab.goto(f"{platform.portal}/launch")
        proposed = first.get_by_label("Name").input_value()
        assert second.get_by_label("Name").input_value() == proposed

        for tab in (first, second):
            tab.get_by_role("button", name="Launch", exact=True).click()
            tab.wait_for_load_state()
        first.wait_for_url(WORKSPACE)

        expect(second.locator("#launch, #head").first).to_contain_text(proposed)
        assert names_of(platform, "charlie").count(proposed) == 1
        assert WORKSPACE.search(second.url) or f"called {proposed}" in second.locator("#launch").inner_text()


class TestOverQuota:
    """C28, C31: every reason with its numbers and whom to ask; nothing spins, nothing is made."""

    def test_the_form_says_resource_asked_used_and_limit_before_one_launches(self, charlie, platform):
        with platform.api("boris") as api:
            limits = _limits(api)
        before = names_of(platform, "charlie")
        charlie.go("/launch")
        fill(charlie.page, "too-much", shape="8 × H200")
        charlie.page.get_by_label("Disk, GiB").fill("60000")

        note = charlie.page.locator("#panel .note.bad")
        expect(note).to_contain_text("60000 asked")
        words = note.inner_text()
        assert re.search(rf"4 .*H200.* over.*0 used \+ 8 asked > {limits['accelerators/H200']}", words), words
        assert f"0 used + 60000 asked > {limits['storage_gib']}" in words, words
        assert "Ask " in words
        expect(charlie.page.locator("#launch-button")).to_be_disabled()
        assert names_of(platform, "charlie") == before

    def test_a_launch_that_is_refused_after_all_ends_on_the_form_with_the_reasons(self, charlie, platform):
        page = charlie.page
        charlie.go("/launch")
        fill(page, "refused-after-all", shape="8 × H200")
        expect(page.locator("#panel .note.bad")).to_be_visible()
        with page.expect_navigation():
            page.locator("#launch").evaluate("form => form.requestSubmit()")

        expect(page.locator("#panel .note.bad")).to_contain_text("0 used + 8 asked > 4")
        assert page.locator("[aria-busy=true], .skeleton").count() == 0
        assert "refused-after-all" not in names_of(platform, "charlie")
        assert page.get_by_label("Name").input_value() == "refused-after-all"


class TestEveryHand:
    def test_a_workspace_is_launched_by_keyboard_alone(self, charlie, platform):
        page = charlie.page
        charlie.go("/launch")
        _tab_to(page, "input[name=shape]")
        _tab_to(page, "#id_name")
        page.keyboard.press("Control+a")
        page.keyboard.type("by-keyboard")
        expect(page.locator("#panel .note")).to_contain_text("Starts now")
        _tab_to(page, "#launch-button")
        page.keyboard.press("Enter")
        page.wait_for_url(WORKSPACE)

        expect(page.get_by_role("heading", level=1)).to_have_text("by-keyboard")

    def test_a_workspace_is_launched_on_a_phone(self, visit, charlie):
        phone = visit("charlie", view=View(NARROW, "light"))
        phone.go("/")
        phone.page.get_by_role("link", name="Launch").first.tap()
        fill(phone.page, "on-a-phone")
        launch = phone.page.get_by_role("button", name="Launch", exact=True)
        expect(phone.page.locator("#panel .note")).to_contain_text("Starts now")
        assert launch.bounding_box()["height"] >= 34
        launch.tap()
        phone.page.wait_for_url(WORKSPACE)

        assert phone.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        expect(phone.page.get_by_role("heading", level=1)).to_have_text("on-a-phone")


def _own(platform) -> dict[str, str]:
    return {"Origin": platform.portal, "Referer": f"{platform.portal}/launch"}


def _limits(api) -> dict[str, int]:
    return {row["resource"]: row["limit"] for row in api.get("quotas").json()["results"]}


def _tab_to(page: Page, selector: str) -> None:
    """Press Tab until that has the focus, which must be visible."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            assert page.evaluate("document.activeElement.matches(':focus-visible')")
            return
    raise AssertionError(f"Tab never reached {selector}.")
