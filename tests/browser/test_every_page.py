"""Every page of the running platform: accessible, within the screen, true to the policy, and open to whom it offers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.look import axe
from tests.look.browser import NARROW, WIDE, View

VIEWS = (View(WIDE, "light"), View(NARROW, "dark"))
SETTINGS = ("/organization/settings", "/organization/roles")
GOVERNED = ("/approvals", "/policies")
EVERYBODY = (*SETTINGS, *GOVERNED, "/", "/workspaces", "/disks", "/usage", "/quotas", "/tokens", "/nowhere")
RULES = ("/policies/new?kind=regions", "/policies/new?kind=approval_above")
MINE = (
    "/launch",
    "/launch?shape=8x-h200",
    "/launch?kind=job",
    "/accounts/sessions/",
    "/accounts/password/change/",
    "/accounts/2fa/",
    "/sign-in/linked",
    "/account/erase",
)
ORGANIZATION = tuple(
    f"/organization/{name}" for name in ("members", "teams", "projects", "service-accounts", "transfer", "close")
)
OWNERS = (*ORGANIZATION, *RULES, "/invoice", "/invoices", "/audit", "/organization/sign-in")
CONSOLE = (
    "/console/",
    "/console/tenants/borealis",
    *(
        f"/console/{name}"
        for name in ("people", "clusters", "clusters/new", "leaks", "fleet", "approvals", "policies", "audit")
    ),
    "/console/isolation",
)
DOOR = (
    "/join",
    "/accounts/login/",
    "/accounts/password/reset/",
    "/accounts/password/reset/done/",
    "/nowhere",
    "/sign-in/organization",
)
VISITS = (
    ("alice", (*EVERYBODY, *MINE)),
    ("olivia", (*EVERYBODY, *OWNERS)),
    ("victor", EVERYBODY),
    ("billie", ("/", "/usage", "/invoice", "/invoices")),
    ("petra", CONSOLE),
    ("", DOOR),
)


def faults_of(page: Page) -> list[str]:
    faults = [f"{item['id']}: {node['html'][:160]}" for item in axe.violations(page) for node in item["nodes"]]
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return [*faults, *([f"{overflow} px too wide"] if overflow > 0 else [])]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: f"{view.width}-{view.theme}")
@pytest.mark.parametrize(("name", "paths"), VISITS, ids=[name or "stranger" for name, _ in VISITS])
def test_pages_are_accessible_fit_and_keep_the_policy(visit, name, paths, view):
    visitor = visit(name, view=view)
    found = {}
    for path in paths:
        status = visitor.go(path)
        complaints = [text for text in visitor.complaints if status < 400 or "the server responded with" not in text]
        visitor.complaints.clear()
        faults = [*faults_of(visitor.page), *complaints]
        assert status in (200, 404), path
        if faults:
            found[path] = faults
    assert found == {}


class TestOffers:
    """What a page shows leads somewhere."""

    @pytest.mark.parametrize("name", ["alice", "olivia", "victor", "billie"])
    def test_no_link_of_the_frame_or_the_home_page_is_refused(self, visit, name):
        visitor = visit(name)
        visitor.go("/")
        links = visitor.page.eval_on_selector_all(
            "nav.side a, main a", "found => found.map(a => a.getAttribute('href'))"
        )

        assert len(links) > 3
        assert {link: visitor.go(link) for link in set(links) if link.startswith("/")} == dict.fromkeys(
            (link for link in links if link.startswith("/")), 200
        )

    def test_the_strip_says_what_this_machine_only_pretends(self, visit):
        alice = visit("alice")
        alice.go("/")

        expect(alice.page.locator(".strip")).to_contain_text("Accelerators of this cluster are simulated")
        expect(alice.page.locator(".strip")).to_contain_text(re.compile("Not limited on this machine: .*disk size"))

    def test_an_owner_changes_a_limit_and_the_audit_log_says_so(self, visit):
        olivia = visit("olivia")
        olivia.go("/quotas")
        olivia.page.get_by_role("button", name=re.compile("^Change L40S of Project")).click()
        dialog = olivia.page.get_by_role("dialog", name=re.compile("^L40S of Project"))
        dialog.get_by_label("Limit", exact=True).fill("6")
        dialog.get_by_role("button", name="Save").click()

        expect(olivia.page.get_by_text("L40S: the limit is 6 now.")).to_be_visible()
        olivia.go("/audit?verb=quota.limit_set")
        row = olivia.page.locator("tbody tr").first
        expect(row).to_contain_text("Olivia Brandt")
        row.get_by_text("what changed").click()
        expect(row).to_contain_text("6")
