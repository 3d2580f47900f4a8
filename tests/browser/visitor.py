"""A person at a browser: what they see and do, in the words of the pages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, WebSocket, expect

from tests.look.browser import NARROW, WIDE, View
from tests.platform import Platform, wait_until

SOON = 30_000
LAUNCH_SECONDS = 120
DONE = "Ctrl+Enter"


@dataclass(slots=True)
class Visitor:
    """A browser of one's own: no cookie is shared with any other visitor."""

    platform: Platform
    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)

    @classmethod
    def enter(
        cls, browser: Browser, platform: Platform, name: str, *, kept: dict[str, Path], view: View | None = None
    ) -> Visitor:
        shown = view or View(WIDE, "light")
        context = browser.new_context(
            viewport={"width": shown.width, "height": 900},
            color_scheme=shown.theme,
            reduced_motion="reduce",
            is_mobile=shown.width == NARROW,
            has_touch=shown.width == NARROW,
            storage_state=kept.get(name),
            service_workers="block",
        )
        visitor = cls(platform, context, context.new_page())
        visitor.page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
        visitor.page.on(
            "console", lambda message: visitor.complaints.append(message.text) if message.type == "error" else None
        )
        if name and name not in kept:
            visitor.sign_in(name)
            kept[name] = platform.folder / f"session-{name}.json"
            context.storage_state(path=kept[name])
        return visitor

    def leave(self) -> None:
        self.context.close()

    def sign_in(self, name: str, password: str | None = None) -> None:
        person = self.platform.person(name)
        self.go("/")
        self.page.get_by_label("Email").fill(person["email"])
        self.page.get_by_label("Password").fill(password or person["password"])
        self.page.get_by_role("button", name="Sign in").click()
        if password is None:
            self.page.wait_for_url(f"{self.platform.portal}/")

    def go(self, path: str) -> int:
        """The answer's status."""
        response = self.page.goto(f"{self.platform.portal}{path}")
        assert response is not None
        return response.status

    def launch(self, name: str, *, shape: str = "CPU, 4 cores") -> None:
        """Until the workspace's own page is there."""
        self.go("/launch")
        self.page.get_by_role("radio", name=shape).check()
        self.page.get_by_label("Name").fill(name)
        expect(self.page.locator("#panel .note").first).to_contain_text("Starts now", timeout=SOON)
        self.page.get_by_role("button", name="Launch", exact=True).click()
        self.page.wait_for_url(re.compile("/workspaces/[0-9a-f-]{36}$"))

    def sees_state(self, word: str, *, seconds: float = LAUNCH_SECONDS) -> None:
        expect(self.page.locator("#head .state")).to_have_text(word, timeout=seconds * 1000)

    def open_workspace(self) -> Page:
        """The new tab, once JupyterLab answers in it."""
        with self.context.expect_page() as opened:
            self.page.get_by_role("button", name="Open JupyterLab").click()
        lab = opened.value
        lab.wait_for_url(re.compile(r"\.localhost:"), timeout=SOON)
        lab.wait_for_load_state("domcontentloaded")
        return lab

    def press_in_dialog(self, opener: str, title: str, confirm: str) -> None:
        self.page.get_by_role("button", name=opener, exact=True).click()
        dialog = self.page.get_by_role("dialog", name=title)
        expect(dialog).to_be_visible()
        dialog.get_by_role("button", name=confirm, exact=True).click()

    def remove(self, workload: str) -> None:
        """By way of the page, and waits until it is really gone."""
        self.go(workload)
        self.press_in_dialog("Delete", "Delete ", "Delete")
        self.sees_state("Deleted", seconds=60)


@dataclass(slots=True)
class Sockets:
    """The WebSockets that a page opens."""

    opened: list[WebSocket] = field(default_factory=list)

    @classmethod
    def of(cls, page: Page) -> Sockets:
        sockets = cls()
        page.on("websocket", lambda socket: sockets.hear(socket))  # noqa: PLW0108 (playwright marks what it is given)
        return sockets

    def hear(self, socket: WebSocket) -> None:
        self.opened.append(socket)

    def all_closed(self) -> bool:
        return bool(self.opened) and all(socket.is_closed() for socket in self.opened)


def notebook_in(lab: Page, name: str, source: str) -> None:
    """Lay a notebook with one cell on the workspace's disk, from the page itself, and open it with a live kernel."""
    status = lab.evaluate(_PUT_NOTEBOOK, {"name": name, "source": source})
    assert status in (200, 201), status
    show_notebook(lab, name)


def show_notebook(lab: Page, name: str) -> None:
    origin = re.match(r"https?://[^/]+", lab.url)
    assert origin is not None
    lab.goto(f"{origin.group()}/lab/workspaces/auto-{name.partition('.')[0]}/tree/{name}?reset")
    expect(lab.locator(".jp-Notebook .jp-Cell").first).to_be_visible(timeout=60_000)


def run_cell(lab: Page) -> str:
    """Run the first cell, once the kernel is idle; what it printed."""
    expect(lab.get_by_role("button", name="Python 3 (ipykernel) | Idle")).to_be_visible(timeout=60_000)
    lab.locator(".jp-Notebook .jp-Cell .cm-content").first.click()
    lab.keyboard.press("Control+Enter")
    output = lab.locator(".jp-Notebook .jp-OutputArea-output").first
    expect(output).to_be_visible(timeout=60_000)
    return output.inner_text().strip()


def save(lab: Page) -> None:
    lab.keyboard.press("Escape")
    lab.keyboard.press("Control+s")
    wait_until(
        lambda: "jp-mod-dirty" not in (lab.locator(".jp-NotebookPanel").first.get_attribute("class") or ""), seconds=20
    )


_PUT_NOTEBOOK = """async ({name, source}) => {
  const token = document.cookie.match(/_xsrf=([^;]+)/);
  const cell = {cell_type: "code", metadata: {}, source, outputs: [], execution_count: null, id: "first"};
  const content = {
    cells: [cell], nbformat: 4, nbformat_minor: 5,
    metadata: {kernelspec: {name: "python3", display_name: "Python 3", language: "python"}},
  };
  const answer = await fetch(`/api/contents/${name}`, {
    method: "PUT",
    headers: {"Content-Type": "application/json", "X-XSRFToken": token ? token[1] : ""},
    body: JSON.stringify({type: "notebook", format: "json", content}),
  });
  return answer.status;
}"""
