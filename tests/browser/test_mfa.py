"""Second factors at a real browser: an app's digits, a recovery code, and a security key."""

from __future__ import annotations

import re
import time
from urllib.parse import urlsplit

import pytest
from allauth.mfa.totp.internal import auth as totp
from playwright.sync_api import expect

from tests.browser.test_every_page import faults_of
from tests.browser.visitor import Visitor


def digits(secret: str) -> str:
    """What the authenticator app shows now."""
    return str(totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30)))


def confirm(visitor: Visitor, name: str) -> None:
    visitor.page.get_by_label("Password").fill(visitor.platform.person(name)["password"])
    visitor.page.get_by_role("button", name="Confirm").click()


def sign_in_again(visitor: Visitor, name: str) -> None:
    """As far as the second factor."""
    person = visitor.platform.person(name)
    visitor.page.get_by_label("Email").fill(person["email"])
    visitor.page.get_by_label("Password").fill(person["password"])
    visitor.page.get_by_role("button", name="Sign in", exact=True).click()
    expect(visitor.page.get_by_role("heading", name="One more thing")).to_be_visible()


class TestAuthenticatorApp:
    def test_is_set_up_asked_for_and_taken_away(self, visit):
        charlie = visit("charlie", fresh=True)
        charlie.go("/accounts/2fa/")
        charlie.page.get_by_role("link", name="Set up").click()
        confirm(charlie, "charlie")
        expect(charlie.page.get_by_role("heading", name="Set up an authenticator app")).to_be_visible()
        assert faults_of(charlie.page) == []
        secret = charlie.page.locator("[data-copy]").first.get_attribute("data-copy") or ""
        charlie.page.get_by_label("Authenticator code").fill(digits(secret))
        charlie.page.get_by_role("button", name="Set up").click()
        expect(charlie.page.locator(".codes li")).to_have_count(10)
        assert faults_of(charlie.page) == []
        code = charlie.page.locator(".codes li").first.inner_text().replace(" ", "")
        assert charlie.complaints == []

        again = visit()
        again.go("/usage")
        sign_in_again(again, "charlie")
        assert faults_of(again.page) == []
        again.page.get_by_label("Code").fill("000000")
        again.page.get_by_role("button", name="Sign in", exact=True).click()
        expect(again.page.get_by_text("Incorrect code.")).to_be_visible()
        again.page.get_by_label("Code").fill(code)
        again.page.get_by_role("button", name="Sign in", exact=True).click()
        again.page.wait_for_url(f"{again.platform.portal}/usage")

        charlie.go("/accounts/2fa/")
        expect(charlie.page.get_by_text("9 of 10 left")).to_be_visible()
        charlie.page.get_by_role("link", name="Remove").click()
        charlie.page.get_by_role("button", name="Remove it").click()
        expect(charlie.page.get_by_text("The authenticator app is removed.")).to_be_visible()


class TestSecurityKey:
    @pytest.fixture
    def charlie(self, visit, platform):
        """At `localhost`: a key answers to a name, not to a number."""
        visitor = visit()
        named = visitor.platform.portal.replace("127.0.0.1", "localhost")
        devices = visitor.context.new_cdp_session(visitor.page)
        devices.send("WebAuthn.enable")
        options = {"protocol": "ctap2", "transport": "usb", "hasUserVerification": True, "isUserVerified": True}
        devices.send(
            "WebAuthn.addVirtualAuthenticator",
            {"options": {**options, "automaticPresenceSimulation": True, "hasResidentKey": False}},
        )
        visitor.page.goto(f"{named}/accounts/login/")
        person = platform.person("charlie")
        visitor.page.get_by_label("Email").fill(person["email"])
        visitor.page.get_by_label("Password").fill(person["password"])
        visitor.page.get_by_role("button", name="Sign in", exact=True).click()
        visitor.page.wait_for_url(f"{named}/")
        return visitor, named

    def test_is_added_signs_in_and_is_removed(self, charlie):
        visitor, named = charlie
        page = visitor.page
        page.goto(f"{named}/accounts/2fa/webauthn/add/")
        confirm(visitor, "charlie")
        page.get_by_label("Name").fill("Key on the ring")
        page.get_by_role("button", name="Add it").click()
        expect(page.locator(".codes li")).to_have_count(10)

        page.locator("#person summary").click()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(re.compile("/accounts/login/"))
        sign_in_again(visitor, "charlie")
        page.get_by_role("button", name="Use a security key").click()
        page.wait_for_url(f"{named}/")

        page.goto(f"{named}/accounts/2fa/webauthn/")
        expect(page.get_by_text("Key on the ring")).to_be_visible()
        assert faults_of(page) == []
        page.get_by_role("link", name="Remove Key on the ring").click()
        if urlsplit(page.url).path == "/accounts/reauthenticate/":
            confirm(visitor, "charlie")
        page.get_by_role("button", name="Remove it").click()
        expect(page.get_by_text("The security key is removed.")).to_be_visible()
        assert visitor.complaints == []
