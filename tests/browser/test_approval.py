"""Somebody launches more than a rule lets through; another person agrees; it runs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

WORKSPACE = re.compile("/workspaces/[0-9a-f-]{36}$")
RULE = {
    "slug": "any-price",
    "title": "Dear launches",
    "kind": "approval_above",
    "terms": {"price_per_hour": {"amount": "0.0001", "currency": "USD"}},
    "mode": "enforce",
}


@pytest.fixture
def ruled(platform):
    """The rule is set by the API, and gone afterwards, so that no other test meets it."""
    with platform.api("olivia") as api:
        currency = next(found for found in api.get("organizations").json()["results"])["currency"]
        terms = {"price_per_hour": {"amount": "0.0001", "currency": currency}}
        policy = api.post("policies", json={**RULE, "terms": terms}).raise_for_status().json()
    yield policy
    with platform.api("olivia") as api:
        api.delete(f"policies/{policy['id']}").raise_for_status()
    with platform.api("alice") as api:
        for found in api.get("workloads").json()["results"]:
            if found["name"].startswith("dear"):
                api.delete(f"workloads/{found['id']}")


class TestApproval:
    def test_it_waits_on_her_page_and_runs_once_the_owner_has_agreed(self, ruled, visit, platform):
        alice, olivia = visit("alice"), visit("olivia")
        alice.go("/launch")
        alice.page.get_by_role("radio", name="CPU, 4 cores").check()
        alice.page.get_by_label("Name").fill("dear")
        alice.page.get_by_label("Why").fill("The demo for the board.")
        expect(alice.page.locator("#panel .note").first).to_contain_text("Dear launches")
        alice.page.get_by_role("button", name="Ask for approval").click()
        alice.page.wait_for_url(WORKSPACE)
        alice.sees_state("Awaiting approval")

        olivia.go("/")
        link = olivia.page.get_by_role("navigation", name="Main", exact=True).get_by_role("link", name="Approvals")
        expect(link.locator(".count")).to_have_text("1")
        link.click()
        card = olivia.page.locator(".request").filter(has_text="Launch dear")
        for words in ("The demo for the board.", "Alice", "Dear launches", "/ h"):
            expect(card).to_contain_text(words)
        card.get_by_role("button", name="Approve: Launch dear").click()
        dialog = olivia.page.get_by_role("dialog", name="Launch dear?")
        dialog.get_by_label("Comment").fill("Go on.")
        dialog.get_by_role("button", name="Approve", exact=True).click()
        expect(olivia.page.get_by_role("heading", name="Waiting for you")).not_to_contain_text("1")

        alice.sees_state("Running")

    def test_what_is_refused_says_so_and_does_not_run(self, ruled, visit):
        alice, olivia = visit("alice"), visit("olivia")
        alice.go("/launch?name=dear-too")
        alice.page.get_by_role("radio", name="CPU, 4 cores").check()
        alice.page.get_by_role("button", name="Ask for approval").click()
        alice.page.wait_for_url(WORKSPACE)

        olivia.go("/approvals")
        olivia.page.get_by_role("button", name="Refuse: Launch dear-too").click()
        dialog = olivia.page.get_by_role("dialog", name="Refuse: Launch dear-too")
        dialog.get_by_label("Comment").fill("Not this month.")
        dialog.get_by_role("button", name="Refuse", exact=True).click()

        alice.sees_state("Failed")
        expect(alice.page.locator("#head")).to_contain_text("Its approval was refused")
