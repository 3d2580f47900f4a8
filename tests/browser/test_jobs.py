"""A training job at a browser: it fails, is tried again by itself, and is done."""

from __future__ import annotations

import re

from playwright.sync_api import expect

COMMAND = "sh -c 'test -e ~/tried && echo goes on || { touch ~/tried; echo gives up; exit 1; }'"
SOON = 30_000


class TestJob:
    def test_fails_once_is_tried_again_and_is_done(self, visit, platform):
        alice = visit("alice")
        page = alice.page
        alice.go("/launch")
        assert page.get_by_label("Name").input_value().startswith("notebook")

        page.get_by_role("radio", name="Training job").check()
        expect(page.get_by_label("Name")).to_have_value(re.compile("^job"))
        page.get_by_role("textbox", name="Command").fill(COMMAND.removesuffix("'"))
        expect(page.locator("#panel")).to_contain_text("A quote is opened and not closed.")
        page.get_by_role("textbox", name="Command").fill(COMMAND)
        page.get_by_role("spinbutton", name="Retries").fill("1")
        expect(page.locator("#panel .words li")).to_have_count(3)
        expect(page.locator("#panel")).to_contain_text("One worker; tried up to 2 times.")
        page.get_by_role("button", name="Launch", exact=True).click()

        expect(page.locator("#head .state")).to_have_text(re.compile("Waiting to retry at"), timeout=SOON)
        expect(page.locator("#attempts")).to_contain_text("0 of 1 retry left")
        expect(page.get_by_role("button", name="Open")).to_have_count(0)
        alice.sees_state("Done", seconds=60)
        expect(page.get_by_role("link", name="Launch again")).to_be_visible()
        expect(page.locator("#attempts tbody tr")).to_have_count(2)
        expect(page.locator("#logs")).to_contain_text("goes on")

        page.get_by_role("link", name="Log of attempt 1").click()
        expect(page.locator("#logs")).to_contain_text("gives up")
        with platform.api("alice") as api:
            api.delete(f"workloads/{page.url.partition('?')[0].rpartition('/')[2]}")
