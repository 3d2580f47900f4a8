"""Single sign-on at a real browser, against a provider and a name server that run beside the platform."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_every_page import faults_of
from tests.browser.visitor import Visitor
from tests.oidc import OidcProvider, running_provider


@pytest.fixture(scope="module")
def idp() -> Iterator[OidcProvider]:
    with running_provider() as found:
        yield found


def vouch(page: Page, subject: str) -> None:
    """The provider's own page."""
    page.wait_for_url(re.compile("/oauth2/authorize"))
    page.locator("input[name=sub]").fill(subject)
    page.locator("button[type=submit]:not([value=deny])").first.click()


def come(visitor: Visitor, organization: str, subject: str) -> None:
    visitor.go("/accounts/login/")
    visitor.page.get_by_role("link", name="Sign in with your organisation").click()
    visitor.page.get_by_label("Organisation or e-mail").fill(organization)
    visitor.page.get_by_role("button", name="Continue").click()
    vouch(visitor.page, subject)


class TestSingleSignOn:
    def test_an_owner_sets_it_up_and_people_come_in_by_it(self, visit, idp, domain_records):
        boris = visit("boris")
        boris.go("/organization/sign-in")
        boris.page.get_by_role("button", name="Add a domain").click()
        boris.page.locator("#domain").fill("borealis.example")
        boris.page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
        boris.page.get_by_role("button", name="Check borealis.example").click()
        expect(boris.page.get_by_text("has no TXT record")).to_be_visible()
        name, value = (each.get_attribute("data-copy") for each in boris.page.locator("#domains [data-copy]").all())
        domain_records[name] = value
        boris.page.get_by_role("button", name="Check borealis.example").click()
        expect(boris.page.get_by_text("borealis.example is proven.")).to_be_visible()
        boris.page.locator("#id_name").fill("Borealis account")
        boris.page.locator("#id_issuer").fill(idp.issuer)
        boris.page.locator("#id_client_id").fill("steelyard")
        boris.page.locator("#id_client_secret").fill("hush")
        boris.page.get_by_role("button", name="Save the provider").click()
        boris.page.get_by_role("button", name="Add a role").click()
        boris.page.locator("#id_group").fill("scientists")
        boris.page.locator("#id_role").select_option("developer")
        boris.page.locator("#id_place").select_option(label="Drugs")
        boris.page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
        expect(boris.page.locator("#groups tbody tr")).to_have_count(1)
        assert faults_of(boris.page) == []

        idp.person("nora", email="nora@borealis.example", email_verified=True, groups=["scientists"], name="Nora Lind")
        nora = visit()
        come(nora, "borealis", "nora")
        nora.page.wait_for_url(f"{nora.platform.portal}/")
        nora.page.locator("#person summary").click()
        expect(nora.page.get_by_text("Nora Lind").first).to_be_visible()
        assert nora.go("/workspaces") == 200
        assert nora.go("/sign-in/linked") == 200
        assert faults_of(nora.page) == []

    def test_an_account_that_exists_is_linked_by_its_owner(self, visit, idp, platform):
        person = platform.person("charlie")
        idp.person("charlie-there", email=person["email"], email_verified=True, groups=["scientists"], name="Charlie")
        charlie = visit()
        come(charlie, "charlie@borealis.example", "charlie-there")
        expect(charlie.page.get_by_role("heading", name="This account exists already")).to_be_visible()
        assert faults_of(charlie.page) == []
        charlie.page.get_by_role("link", name="Sign in and link it").click()
        charlie.page.get_by_label("Email").fill(person["email"])
        charlie.page.get_by_label("Password").fill(person["password"])
        charlie.page.get_by_role("button", name="Sign in", exact=True).click()
        expect(charlie.page.get_by_role("heading", name="Link your account with Borealis")).to_be_visible()
        assert faults_of(charlie.page) == []
        charlie.page.get_by_role("button", name="Link it").click()
        expect(charlie.page.get_by_text("From now on Borealis signs you in.")).to_be_visible()

        again = visit()
        come(again, "borealis", "charlie-there")
        again.page.wait_for_url(f"{again.platform.portal}/")

    def test_an_unknown_name_is_told_plainly(self, visit):
        stranger = visit()
        stranger.go("/sign-in/organization?organization=nobody-here")

        expect(stranger.page.get_by_text("Nobody signs in here by that name.")).to_be_visible()
        assert faults_of(stranger.page) == []
