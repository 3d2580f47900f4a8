"""The environment that the platform's processes get: what they need, and nothing else of the person's shell."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from portal.up.errors import CannotStart
from portal.up.leftovers import MARK
from portal.up.ports import LOOPBACK
from portal.up.state import Secrets, State, write_private

DEFAULT_PORT = 8000
_PASSED_ON = frozenset(
    {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "KUBECONFIG"}
)
_PASSED_ON_PREFIXES = ("STEELYARD_", "WORKSPACE_", "EMAIL_", "STRIPE_")
_OWNER_URL = "DATABASE_OWNER_URL"
_OWNER_COMMANDS = frozenset(
    {"migrate", "sqlmigrate", "showmigrations", "prepare_database", "backup", "restore", "dbshell"}
)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where everything of one installation listens."""

    port: int
    owner_url: str
    app_url: str
    redis_url: str

    @property
    def portal(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def proxy(self) -> str:
        return f"http://{LOOPBACK}:{self.port + 1}"

    @property
    def gateway(self) -> str:
        return f"http://{LOOPBACK}:{self.port + 2}"


def read_port(variables: Mapping[str, str]) -> int:
    word = variables.get("STEELYARD_PORT", str(DEFAULT_PORT))
    if not word.isdigit() or not 0 < int(word) < 65_534:
        raise CannotStart(f"STEELYARD_PORT must be a number from 1 to 65533, not “{word}”.")
    return int(word)


def web_environment(
    state: State, secrets: Secrets, addresses: Addresses, *, workspace_python: Path, inherited: Mapping[str, str]
) -> dict[str, str]:
    """For web, proxy, worker and beat: the database as the web role, never as its owner."""
    passed_on = {
        name: value
        for name, value in inherited.items()
        if (name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)) and name != MARK
    }
    return passed_on | {
        "LC_CTYPE": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "STEELYARD_ENVIRONMENT": "embedded",
        "STEELYARD_SECRET_KEY": secrets.secret_key,
        "STEELYARD_FIELD_KEY": secrets.field_key,
        "STEELYARD_STATE": str(state.home),
        "STEELYARD_PORT": str(addresses.port),
        "STEELYARD_PROXY_PORT": str(addresses.port + 1),
        "STEELYARD_PORTAL_ORIGIN": addresses.portal,
        "STEELYARD_ALLOWED_HOSTS": f"{LOOPBACK},localhost",
        "STEELYARD_WORKSPACE_PYTHON": str(workspace_python),
        "WORKSPACE_DOMAIN": inherited.get("WORKSPACE_DOMAIN", "localhost"),
        "DATABASE_URL": addresses.app_url,
        "REDIS_URL": addresses.redis_url,
    }


def owner_environment(web: Mapping[str, str], owner_url: str) -> dict[str, str]:
    """For what changes the schema or copies all of it."""
    return {**web, "DATABASE_URL": owner_url, _OWNER_URL: owner_url}


def supervised(environment: Mapping[str, str], secrets: Secrets) -> dict[str, str]:
    return {**environment, MARK: secrets.installation_id}


def keep_for_commands(state: State, web: Mapping[str, str], *, owner_url: str, postgres_tools: Path | None) -> None:
    """So that management commands can be run beside the running platform (`manage.py --installation FOLDER …`)."""
    tools = {"STEELYARD_POSTGRES_TOOLS": str(postgres_tools)} if postgres_tools else {}
    write_private(state.environment_file, json.dumps({**web, **tools, _OWNER_URL: owner_url}, indent=2))


def enter_installation(folder: Path, command: str) -> None:
    """Become a process of that installation. Only commands that need the owner's address get it."""
    kept_in = next(
        (path for path in (folder / "environment.json", folder / "home" / "environment.json") if path.exists()), None
    )
    if kept_in is None:
        raise CannotStart(f"There is no installation in {folder}: run `make up` first.")
    kept: dict[str, str] = json.loads(kept_in.read_text())
    owner_url = kept.pop(_OWNER_URL)
    os.environ.pop(_OWNER_URL, None)
    os.environ.update(owner_environment(kept, owner_url) if command in _OWNER_COMMANDS else kept)
