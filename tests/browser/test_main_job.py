"""The main job in a real browser: from signing in to the bill, and back to the files."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from tests.browser.visitor import SOON, notebook_in, run_cell, save, show_notebook

SOURCE = "print('weighed', sum(n * n for n in range(1000)))"
NAME = "weights-one"
PRINTED = f"weighed {sum(n * n for n in range(1000))}"


class TestMainJob:
    def test_from_signing_in_to_the_bill_and_back_to_the_files(self, visit, platform):
        alice = visit("alice")
        page: Page = alice.page

        self._fills_the_form_and_is_answered_at_once(page, alice)
        page.get_by_role("button", name="Launch", exact=True).click()
        page.wait_for_url(re.compile("/workspaces/[0-9a-f-]{36}$"))
        workload = urlsplit(page.url).path
        alice.sees_state("Running")
        expect(page.locator("#timeline")).to_contain_text("by Alice Moreau")

        lab = alice.open_workspace()
        origin = urlsplit(lab.url)
        self._is_an_origin_of_its_own(lab, alice, platform)
        notebook_in(lab, "weights.ipynb", SOURCE)
        assert run_cell(lab) == PRINTED
        save(lab)
        lab.close()

        alice.go(workload)
        page.get_by_role("button", name="Stop", exact=True).click()
        stop = page.get_by_role("dialog", name=f"Stop {NAME}?")
        expect(stop).to_contain_text("the disk of 20 GiB costs $0.00164 / h")
        stop.get_by_role("button", name="Stop", exact=True).click()
        alice.sees_state("Stopped", seconds=60)

        self._usage_shows_time_and_cost(page, alice)

        alice.go(workload)
        page.get_by_role("button", name="Start", exact=True).click()
        alice.sees_state("Running")
        again = alice.open_workspace()
        assert urlsplit(again.url).netloc == origin.netloc
        show_notebook(again, "weights.ipynb")
        expect(again.locator(".jp-Notebook .jp-OutputArea-output").first).to_have_text(PRINTED, timeout=SOON)
        again.close()

        self._deletes_and_can_bring_the_disk_back(page, alice, workload)
        assert alice.complaints == []

    def _fills_the_form_and_is_answered_at_once(self, page: Page, alice) -> None:
        alice.go("/")
        page.get_by_role("main").get_by_role("link", name="Launch", exact=True).first.click()
        panel = page.locator("#panel")
        page.locator("input[name=shape][value='1x-h100']").check()
        expect(panel).to_contain_text("$2.95164 / h")
        expect(panel).to_contain_text("8 H100 are left in the quota, 7 after")
        expect(panel).to_contain_text("$2,154.70")  # 730 h
        page.get_by_role("radio", name="CPU, 4 cores").check()
        expect(panel).to_contain_text("$0.10084 / h")
        expect(panel).to_contain_text("While stopped, for its disk")
        page.get_by_label("Name").fill("Weights One")
        expect(panel).to_contain_text("Not yet")
        expect(page.locator("#launch-button")).to_be_disabled()
        page.get_by_label("Name").fill(NAME)
        expect(panel).to_contain_text("Starts now")

    def _is_an_origin_of_its_own(self, lab: Page, alice, platform) -> None:
        address = urlsplit(lab.url)
        assert re.fullmatch(rf"[a-z0-9]+\.localhost:{platform.proxy_port}", address.netloc)
        assert "code" not in lab.url
        there = {cookie["name"] for cookie in alice.context.cookies(f"http://{address.netloc}/")}
        ours = {cookie["name"] for cookie in alice.context.cookies(platform.portal)}
        assert "sessionid" in ours
        assert not there & {"sessionid", "csrftoken"}
        assert not {name for name in ours if name.startswith(("_xsrf", "username-"))}

    def _usage_shows_time_and_cost(self, page: Page, alice) -> None:
        alice.go("/usage")
        rows = page.locator("#sessions tbody tr").filter(has_text=NAME)
        machine = rows.filter(has_text="CPU")
        expect(machine).to_have_count(1)
        assert _seconds(machine.locator("td").nth(4).inner_text()) >= 5
        assert re.match(r"\$0\.\d\d$", machine.locator("td").nth(5).inner_text())
        exact = machine.locator("td").nth(5).locator("[title]").get_attribute("title") or ""
        assert float(exact.split()[0]) > 0
        expect(rows.filter(has_text="Disk").filter(has_text="runs on")).to_have_count(1)

    def _deletes_and_can_bring_the_disk_back(self, page: Page, alice, workload: str) -> None:
        alice.go(workload)
        page.get_by_role("button", name="Delete", exact=True).click()
        dialog = page.get_by_role("dialog", name=f"Delete {NAME}?")
        expect(dialog).to_contain_text("can be brought back for 7 days, unbilled")
        dialog.get_by_role("button", name="Delete", exact=True).click()
        alice.sees_state("Deleted", seconds=60)
        alice.go("/disks")
        page.get_by_role("link", name=f"Bring back the disk of {NAME}").click()
        expect(page.get_by_label("Disk, GiB")).to_have_attribute("readonly", "")
        expect(page.get_by_label("Disk, GiB")).to_have_value("20")
        page.get_by_label("Name").fill(f"{NAME}-again")
        expect(page.locator("#panel")).to_contain_text("Starts now")
        page.get_by_role("button", name="Launch", exact=True).click()
        page.wait_for_url(re.compile("/workspaces/[0-9a-f-]{36}$"))
        alice.sees_state("Running")
        lab = alice.open_workspace()
        show_notebook(lab, "weights.ipynb")
        expect(lab.locator(".jp-Notebook .jp-OutputArea-output").first).to_have_text(PRINTED, timeout=SOON)
        lab.close()
        alice.remove(urlsplit(page.url).path)


def _seconds(words: str) -> float:
    """Of "1 h 2 min 3 s"."""
    worth = {"h": 3600, "min": 60, "s": 1}
    return sum(float(number) * worth[unit] for number, unit in re.findall(r"([\d.]+) (h|min|s)", words))
