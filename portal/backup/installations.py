"""Which installation is meant, and its database: as it runs, or started for the moment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from portal.backup.errors import CannotBackUp
from portal.up.accounts import server_account
from portal.up.errors import CannotStart
from portal.up.leftovers import end_leftovers
from portal.up.servers import Given, server_folders, start_database
from portal.up.state import State, open_state
from portal.up.supervisor import Supervisor

OWNER_URL, TOOLS = "DATABASE_OWNER_URL", "STEELYARD_POSTGRES_TOOLS"
_KEYS = {"secret_key": "STEELYARD_SECRET_KEY", "field_key": "STEELYARD_FIELD_KEY"}
_OF_OUR_OWN = Given(None, None, None)


@dataclass(frozen=True, slots=True)
class Installation:
    """`kept` is what `make up` has written down of it; empty where other means start it."""

    shown: Path
    home: Path
    given: Mapping[str, str]
    kept: Mapping[str, str]

    @property
    def tools(self) -> Path | None:
        named = self.given.get(TOOLS) or self.kept.get(TOOLS)
        return Path(named) if named else None

    @property
    def has_own_database(self) -> bool:
        return TOOLS in self.kept and self.given.get(OWNER_URL) in (None, self.kept[OWNER_URL])

    def keys(self) -> dict[str, str]:
        """What encrypts and signs. Passwords of servers are each installation's own and are not copied."""
        path = self.home / "secrets.json"
        secrets = json.loads(path.read_text()) if path.exists() else {}
        found = {name: secrets.get(name) or self.given.get(variable) or "" for name, variable in _KEYS.items()}
        if not all(found.values()):
            raise CannotBackUp(f"There are no keys in {self.home}: give {' and '.join(_KEYS.values())}.")
        return found


def shown_folder(variables: Mapping[str, str], root: Path) -> Path:
    return Path(variables.get("STEELYARD_STATE") or root / "var").absolute()


def find(variables: Mapping[str, str], root: Path) -> Installation:
    """That of STEELYARD_STATE. Raises CannotBackUp where there is none."""
    shown = shown_folder(variables, root)
    kept_in = next((path for path in _kept_files(shown) if path.exists()), None)
    kept: dict[str, str] = json.loads(kept_in.read_text()) if kept_in else {}
    if kept_in is None and not variables.get(OWNER_URL):
        raise CannotBackUp(f"There is no installation in {shown}: name its folder in STEELYARD_STATE.")
    home = kept_in.parent if kept_in else shown
    return Installation(shown=shown, home=home, given=variables, kept=kept)


@contextmanager
def database(of: Installation) -> Iterator[str]:
    """The owner's address of a database that answers."""
    if not of.has_own_database:
        yield of.given.get(OWNER_URL) or of.kept[OWNER_URL]
        return
    with ExitStack() as stack:
        yield _started(of, stack) or of.kept[OWNER_URL]


def _started(of: Installation, stack: ExitStack) -> str | None:
    """None where the platform runs: its lock is taken."""
    account = server_account()
    state = open_state(of.shown, account)
    try:
        stack.enter_context(state.locked())
    except CannotStart:
        return None
    return start_own(state, stack)


def start_own(state: State, stack: ExitStack) -> str:
    """The embedded server alone, until the stack is left. The lock is ours."""
    account, secrets = server_account(), state.secrets()
    end_leftovers(installation_id=secrets.installation_id, records=state.records, server_folders=server_folders(state))
    supervisor = stack.enter_context(Supervisor(state, _nothing))
    started = start_database(state, secrets, account, given=_OF_OUR_OWN, supervisor=supervisor, say=_nothing)
    return started.owner_url


def _kept_files(shown: Path) -> list[Path]:
    return [shown / "environment.json", shown / "home" / "environment.json"]


def _nothing(_text: str) -> None:
    return None
