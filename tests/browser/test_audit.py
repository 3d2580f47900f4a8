"""The audit log in a real browser: it narrows while one types, keeps views, and shows one entry whole."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.look import axe
from tests.look.browser import NARROW, View


def test_an_owner_searches_saves_a_view_and_opens_an_entry(visit):
    olivia = visit("olivia")
    page = olivia.page
    olivia.go("/audit")
    page.get_by_label("Did what").fill("person.*")

    expect(page.locator("#events tbody tr").first).to_contain_text("person.")
    expect(page).to_have_url(re.compile(r"verb=person"))
    assert {word.split(".")[0] for word in page.locator("#events tbody code").all_inner_texts()} == {"person"}

    page.get_by_label("Search").fill("olivia")
    expect(page).to_have_url(re.compile(r"q=olivia"))
    page.get_by_label("Search").fill("olivia@")
    page.get_by_role("button", name="Save as a view").click()
    dialog = page.get_by_role("dialog", name="Save as a view")
    expect(page).to_have_url(re.compile(r"q=olivia%40"))
    expect(dialog).to_be_visible()
    dialog.get_by_label("Name").fill("Olivia's sign-ins")
    dialog.get_by_role("button", name="Save").click()
    view = page.get_by_role("link", name="Olivia's sign-ins")
    assert "q=olivia%40" in (view.get_attribute("href") or "")

    page.locator("#events tbody tr").first.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("person.")
    expect(page.get_by_role("heading", name="Proof")).to_be_visible()
    expect(page.locator("main")).to_contain_text("Place in the chain", timeout=10_000)
    assert olivia.complaints == []


def test_streams_and_proof_are_there_and_accessible(visit):
    for view in (None, View(NARROW, "dark")):
        olivia = visit("olivia", view=view)
        for path in ("/audit/streams", "/audit/keeping"):
            assert olivia.go(path) == 200
            assert [item["id"] for item in axe.violations(olivia.page)] == []
            overflow = olivia.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert overflow <= 0
        assert olivia.complaints == []
