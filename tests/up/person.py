"""A person of a running platform, without a browser: what they can do, and what they see of their workspaces."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import httpx

from tests.platform import Platform, wait_until

SHAPE, IMAGE, DISK_GIB = "1x-h100", "jupyterlab-4", 20
_SOON = 90.0
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


def signs_in(platform: Platform, name: str) -> bool:
    """By the form, with the password."""
    person = platform.person(name)
    with httpx.Client(base_url=platform.portal, follow_redirects=True, timeout=30) as browser:
        found = _TOKEN.search(browser.get("/accounts/login/").text)
        assert found
        answer = browser.post(
            "/accounts/login/",
            data={"csrfmiddlewaretoken": found[1], "login": person["email"], "password": person["password"]},
            headers={"Referer": f"{platform.portal}/accounts/login/", "Origin": platform.portal},
        )
        return answer.status_code == 200 and not answer.url.path.startswith("/accounts/login")


def launch(platform: Platform, name: str) -> dict[str, Any]:
    """A real JupyterLab, until it runs."""
    wish = {"project": "aurora/vision", "kind": "workspace", "name": name}
    with platform.api("alice") as api:
        answer = api.post("workloads", json={**wish, "shape": SHAPE, "image": IMAGE, "disk_gib": DISK_GIB})
        assert answer.status_code == 202 or answer.is_success, answer.text
    return becomes(platform, name, "running")


def asks(platform: Platform, name: str, what: str) -> None:
    with platform.api("alice") as api:
        answer = api.post(f"workloads/{workload(platform, name)['id']}/{what}")
        assert answer.is_success, answer.text


def becomes(platform: Platform, name: str, state: str) -> dict[str, Any]:
    wait_until(
        lambda: workload(platform, name)["state"] == state,
        seconds=_SOON,
        why=lambda: f"{name} is {workload(platform, name)}",
    )
    return workload(platform, name)


def workload(platform: Platform, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in pages(platform, "alice", "workloads") if each["name"] == name)
    return found


def pages(platform: Platform, who: str, path: str) -> list[dict[str, Any]]:
    with platform.api(who) as api:
        answer = api.get(path, params={"limit": 100})
        assert answer.is_success, answer.text
        found: list[dict[str, Any]] = answer.json()["results"]
        return found


def sessions_of(platform: Platform, name: str, component: str) -> list[tuple[str, str | None]]:
    """Oldest first."""
    found = [
        (each["from"], each["to"])
        for each in pages(platform, "olivia", "usage-sessions")
        if each["workload"]["label"] == name and each["component"] == component
    ]
    return sorted(found, key=lambda each: each[0])


def volume(platform: Platform, name: str) -> Path:
    with platform.api("alice") as api:
        label = api.get(f"workloads/{workload(platform, name)['id']}").json()["volume"]
    home = platform.state / "home" if (platform.state / "home").exists() else platform.state
    (found,) = (home.resolve() / "workspaces").glob(f"*/{label}")
    return found


def writes(platform: Platform, name: str, file: str, text: str) -> Path:
    """As the workspace's own user would."""
    folder = volume(platform, name)
    path = folder / file
    path.write_text(text)
    path.chmod(0o640)
    os.chown(path, folder.stat().st_uid, folder.stat().st_gid)
    return path
