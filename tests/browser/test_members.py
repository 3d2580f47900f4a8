"""Inviting, joining, changing a role, and belonging to two organisations, as people meet them."""

from __future__ import annotations

import email
import re
from email.message import Message
from urllib.parse import urlsplit

from playwright.sync_api import expect

from tests.browser.visitor import Visitor
from tests.platform import Platform, wait_until

PASSWORD = "a quiet harbour at dawn"


def letters_to(platform: Platform, address: str) -> list[str]:
    """The links in the mails to this address, oldest first: this installation keeps its mail as files."""
    found = []
    for path in sorted((platform.state / "mail").glob("*"), key=lambda each: each.stat().st_mtime):
        letter = email.message_from_bytes(path.read_bytes())
        if letter["To"] == address:
            found.append(_link_in(letter))
    return found


def _link_in(letter: Message) -> str:
    [text] = [part for part in letter.walk() if part.get_content_type() == "text/plain"]
    words = bytes(text.get_payload(decode=True)).decode()
    match = re.search(r"https?://\S+/join\?code=\S+", words)
    assert match is not None, words
    return match[0]


def invite(olivia: Visitor, address: str, *, project: str, role: str) -> str:
    """By the page; the link that its mail brings."""
    olivia.go("/organization/members")
    card = olivia.page.get_by_role("complementary", name="Invite")
    card.get_by_label("E-mail address").fill(address)
    card.get_by_label("Where").select_option(label=project)
    card.get_by_label("Role").select_option(label=role)
    card.get_by_role("button", name="Invite").click()
    expect(olivia.page.get_by_text(f"{address} is invited")).to_be_visible()
    wait_until(lambda: letters_to(olivia.platform, address), seconds=60)
    return letters_to(olivia.platform, address)[-1]


def take_out(platform: Platform, name: str) -> None:
    """Every role in aurora of somebody who only visits: other tests know this person as a stranger there."""
    with platform.api("olivia") as api:
        for row in api.get("memberships", params={"limit": 200}).json()["results"]:
            if row["user"]["label"].startswith(name):
                assert api.delete(f"memberships/{row['id']}").status_code == 204


class TestInvitation:
    def test_brings_a_new_person_to_the_project(self, visit, platform):
        link = invite(visit("olivia"), "nora@new.example", project="Vision", role="Developer")
        nora = visit()
        try:
            nora.page.goto(link)
            assert urlsplit(nora.page.url).query == ""  # the secret has left the address
            expect(nora.page.get_by_role("heading", name="Join Aurora")).to_be_visible()
            nora.page.get_by_label("Your name").fill("Nora Lind")
            nora.page.get_by_label("Password").fill("short")
            nora.page.get_by_role("button", name="Join").click()
            expect(nora.page.get_by_text("too short")).to_be_visible()
            nora.page.get_by_label("Password").fill(PASSWORD)
            nora.page.get_by_role("button", name="Join").click()
            nora.page.wait_for_url(f"{platform.portal}/")
            expect(nora.page.locator("#where summary")).to_contain_text("Vision")

            nora.page.locator("#person summary").click()
            nora.page.get_by_role("button", name="Sign out").click()
            nora.page.get_by_label("Email").fill("nora@new.example")
            nora.page.get_by_label("Password").fill(PASSWORD)
            nora.page.get_by_role("button", name="Sign in").click()
            nora.page.wait_for_url(f"{platform.portal}/")
            assert nora.go("/launch") == 200

            again = visit()
            again.page.goto(link)
            expect(again.page.get_by_role("heading", name="This invitation does not hold")).to_be_visible()
        finally:
            take_out(platform, "nora")

    def test_brings_a_person_of_another_organisation_who_then_has_two(self, visit, platform):
        address = platform.person("charlie")["email"]
        link = invite(visit("olivia"), address, project="Language", role="Viewer")
        charlie = visit("charlie", fresh=True)
        try:
            charlie.page.goto(link)
            charlie.page.get_by_role("button", name="Join").click()
            charlie.page.wait_for_url(f"{platform.portal}/")
            expect(charlie.page.locator("#where summary")).to_contain_text("Aurora")

            for place, project in (("Borealis", "Drugs"), ("Aurora", "Language")):
                charlie.page.locator("#where summary").click()
                charlie.page.locator("#where").get_by_role("button", name=place, exact=True).click()
                expect(charlie.page.locator("#where summary")).to_contain_text(place)
                charlie.go("/quotas")
                expect(charlie.page.locator("#where summary")).to_contain_text(project)
            victor = visit("victor")
            victor.page.goto(link)
            expect(victor.page.get_by_role("heading", name="This invitation does not hold")).to_be_visible()
        finally:
            take_out(platform, "charlie")

    def test_for_somebody_else_says_whom_it_is_for(self, visit):
        link = invite(visit("olivia"), "otto@new.example", project="Vision", role="Viewer")
        victor = visit("victor")
        victor.page.goto(link)

        expect(victor.page.get_by_text("The invitation is for otto@new.example")).to_be_visible()
        expect(victor.page.get_by_role("button", name="Join")).to_have_count(0)
        olivia = visit("olivia")
        olivia.go("/organization/members")
        olivia.page.get_by_role("button", name="Take back the invitation of otto@new.example").click()
        expect(olivia.page.get_by_text("Its link is dead")).to_be_visible()


class TestRole:
    def test_of_a_viewer_who_becomes_a_developer_shows_the_launch_button(self, visit, platform):
        victor, olivia = visit("victor"), visit("olivia")
        victor.go("/workspaces")
        launch = victor.page.get_by_role("link", name=re.compile("^Launch"))
        expect(launch).to_have_count(0)
        olivia.go("/organization/members")
        olivia.page.get_by_role("link", name="Victor Nowak").click()
        try:
            olivia.page.get_by_label("Role on Vision", exact=True).select_option(label="Developer")
            olivia.page.get_by_role("button", name="Change the role on Vision").click()
            expect(olivia.page.get_by_text("has the role")).to_be_visible()

            victor.go("/workspaces")
            expect(launch.first).to_be_visible()
        finally:
            olivia.page.get_by_label("Role on Vision", exact=True).select_option(label="Viewer")
            olivia.page.get_by_role("button", name="Change the role on Vision").click()
            expect(olivia.page.get_by_label("Role on Vision", exact=True)).to_have_value("viewer")
