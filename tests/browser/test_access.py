"""Who gets in, where to, and how it ends."""

from __future__ import annotations

import re
import time
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Sockets, notebook_in
from tests.platform import wait_until


class TestSigningIn:
    def test_guessing_a_password_is_slowed_down(self, visit, platform):
        person, here = platform.person("boris"), visit("boris")
        guesser = visit()
        for _ in range(6):
            guesser.sign_in("boris", password="not-the-password-at-all")
            guesser.page.wait_for_load_state()
        guesser.sign_in("boris", password=person["password"] + "x")

        expect(guesser.page.get_by_text(re.compile("Too many", re.IGNORECASE)).first).to_be_visible()
        assert "sessionid" not in {cookie["name"] for cookie in guesser.context.cookies()}
        assert here.go("/usage") == 200, "whoever is in already stays in while somebody guesses"

    def test_a_stranger_is_led_to_the_door_and_then_on(self, visit, platform):
        person = platform.person("victor")
        stranger = visit()
        stranger.go("/usage")
        assert urlsplit(stranger.page.url).path == "/accounts/login/"

        stranger.page.get_by_label("Email").fill(person["email"])
        stranger.page.get_by_label("Password").fill(person["password"])
        stranger.page.get_by_role("button", name="Sign in").click()
        stranger.page.wait_for_url(f"{platform.portal}/usage")

    def test_sessions_are_listed_and_ended_from_another_browser(self, visit):
        here, there = visit("billie", fresh=True), visit("billie", fresh=True)
        assert there.go("/usage") == 200
        here.go("/accounts/sessions/")
        expect(here.page.get_by_text("this one")).to_be_visible()
        here.page.get_by_role("button", name="Sign out everywhere else").click()
        expect(here.page.get_by_text("1 in all")).to_be_visible()

        there.go("/usage")
        assert urlsplit(there.page.url).path == "/accounts/login/"
        assert here.go("/usage") == 200


class TestPlaces:
    def test_the_project_is_switched_and_kept(self, visit):
        victor = visit("victor")
        victor.go("/quotas")
        where = victor.page.locator("#where")
        other = "Vision" if "Language" in where.locator("summary").inner_text() else "Language"
        where.locator("summary").click()
        where.get_by_role("button", name=other, exact=True).click()

        expect(victor.page.get_by_role("heading", name=f"Project {other}")).to_be_visible()
        victor.go("/quotas")
        expect(victor.page.get_by_role("heading", name=f"Project {other}")).to_be_visible()

    def test_other_peoples_pages_are_nowhere_and_keep_the_frame(self, visit, platform):
        with platform.api("alice") as api:
            made = api.post("workloads", json=_spec(api, "not-for-charlie"), headers={"Idempotency-Key": "nfc-1"})
            assert made.status_code == 202, made.text
        try:
            charlie = visit("charlie")
            assert charlie.go(f"/workspaces/{made.json()['id']}") == 404
            expect(charlie.page.get_by_role("heading", level=1)).to_have_text("Nothing is here")
            expect(charlie.page.get_by_role("navigation", name="Main", exact=True)).to_be_visible()
        finally:
            with platform.api("alice") as api:
                api.delete(f"workloads/{made.json()['id']}")


class TestOpenWorkspace:
    @pytest.fixture
    def opened(self, visit):
        """Charlie's lab with a live kernel, and the sockets that it holds."""
        charlie = visit("charlie", fresh=True)
        charlie.launch("watched")
        workload = urlsplit(charlie.page.url).path
        charlie.sees_state("Running")
        lab = charlie.open_workspace()
        sockets = Sockets.of(lab)
        notebook_in(lab, "open.ipynb", "1")
        wait_until(lambda: (lab.wait_for_timeout(200), sockets.opened)[1], seconds=60)
        yield charlie, lab, sockets
        back = visit("charlie", fresh=True)
        back.remove(workload)

    def test_is_nobody_elses_and_closes_with_the_session(self, opened, visit, platform):
        charlie, lab, sockets = opened
        origin = f"http://{urlsplit(lab.url).netloc}"

        alice = visit("alice")
        assert alice.go(urlsplit(charlie.page.url).path) == 404
        assert alice.page.goto(f"{origin}/lab").status == 401
        expect(alice.page.get_by_role("heading", name="Open this workspace from the portal")).to_be_visible()
        assert not sockets.all_closed()

        begun = time.monotonic()
        charlie.page.locator("#person summary").click()
        charlie.page.get_by_role("button", name="Sign out").click()
        charlie.page.wait_for_url(re.compile("/accounts/login/"))
        wait_until(lambda: (lab.wait_for_timeout(200), any(s.is_closed() for s in sockets.opened))[1], seconds=60)

        assert time.monotonic() - begun < 30
        assert charlie.page.goto(f"{origin}/api/contents").status in (401, 403, 404)


def _spec(api, name: str) -> dict[str, object]:
    project = api.get("projects").json()["results"][0]
    return {
        "name": name,
        "kind": "workspace",
        "project": project["id"],
        "shape": "cpu-4",
        "image": "jupyterlab-4",
        "disk_gib": 10,
    }
