"""The installation file: where scripts and tests find a running platform."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from portal.up.errors import CannotStart
from portal.up.state import State, write_private
from portal.up.variables import Addresses


class Person(TypedDict):
    email: str
    password: str
    token: str
    organization: str
    role: str


def write_installation(
    state: State, addresses: Addresses, *, pids: Mapping[str, int], root: Path, people: list[Person]
) -> None:
    content = {
        "portal": addresses.portal,
        "api": f"{addresses.portal}/api/v1",
        "proxy": addresses.proxy,
        "gateway": addresses.gateway,
        "database_url": addresses.app_url,
        "redis_url": addresses.redis_url,
        "pids": dict(pids),
        "manage": [sys.executable, str(root / "manage.py"), "--installation", str(state.home)],
        "people": people,
    }
    write_private(state.installation_file, json.dumps(content, indent=2))


def remove_installation(state: State) -> None:
    state.installation_file.unlink(missing_ok=True)


def read_people(state: State) -> list[Person]:
    """As `manage.py seed_demo` wrote them; nobody where it has not."""
    if not state.people_file.exists():
        return []
    try:
        content = json.loads(state.people_file.read_text())
        people: list[Person] = content["people"] if isinstance(content, dict) else content
    except (ValueError, KeyError) as error:
        raise CannotStart(f"{state.people_file} cannot be read: {error}") from error
    return people
