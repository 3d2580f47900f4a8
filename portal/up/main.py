"""`manage.py up`: from nothing to a running platform, and back."""

from __future__ import annotations

import hashlib
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil

from portal.up.accounts import server_account
from portal.up.child import Child, Spec
from portal.up.errors import CannotStart
from portal.up.installation import Person, read_people, remove_installation, write_installation
from portal.up.leftovers import end_leftovers
from portal.up.plan import Plan
from portal.up.ports import is_free
from portal.up.servers import Given, server_folders, start_broker, start_database
from portal.up.state import State, describe, open_state, write_private
from portal.up.supervisor import StopRequested, Supervisor
from portal.up.variables import Addresses, keep_for_commands, owner_environment, read_port, supervised, web_environment
from portal.up.workspace_python import namespaces_work, reachable_workspace_python

ROOT = Path(__file__).resolve().parent.parent.parent
_STEP_SECONDS = 300.0
_READY_SECONDS = 120.0
_END_WORKSPACES_SECONDS = 45.0
_PROXY_HEALTH = "/_steelyard/health"
_WORKER_READY = " ready."
_WORKER_SECONDS = 20.0


def main(root: Path = ROOT) -> int:
    """Runs until it is asked to stop. The exit status is 0 only for a platform that ran and was stopped."""
    try:
        port = read_port(os.environ)
        shown = Path(os.environ.get("STEELYARD_STATE") or root / "var").absolute()
        state = open_state(shown, server_account())
        os.umask(0o077)
        with state.locked():
            _run(state, root=root, port=port)
    except CannotStart as error:
        _complain(str(error))
        return 1
    except OSError as error:
        _complain(describe(error))
        return 1
    return 0


def _run(state: State, *, root: Path, port: int) -> None:
    state.refuse_unfinished()
    remove_installation(state)
    ended = end_leftovers(
        installation_id=state.secrets().installation_id, records=state.records, server_folders=server_folders(state)
    )
    if ended:
        _say(f"Ended {ended} processes that an earlier run left behind")
    _refuse_taken_ports(port)
    if state.lies_elsewhere:
        _say(f"Kept in {state.home}: other accounts cannot pass the folders above {state.shown}")
    plan: Plan | None = None
    with Supervisor(state, _say) as supervisor:
        try:
            plan, addresses = _start_servers(state, supervisor, root=root, port=port)
            people = _prepare(state, plan, supervisor)
            _start_processes(plan, addresses, supervisor)
            write_installation(state, addresses, pids=_pids(supervisor), root=root, people=people)
            _greet(state, addresses, people)
            supervisor.keep(
                lambda: _renew(
                    partial(write_installation, state, addresses, pids=_pids(supervisor), root=root, people=people)
                )
            )
        except StopRequested:
            _say("Stopping")
        finally:
            remove_installation(state)
            supervisor.stopping()
            _stop(plan, supervisor)


def _start_servers(state: State, supervisor: Supervisor, *, root: Path, port: int) -> tuple[Plan, Addresses]:
    secrets, account, given = state.secrets(), server_account(), Given.read(os.environ)
    venv = Path(os.environ.get("STEELYARD_WORKSPACE_VENV") or root / ".venv-workspace")
    workspace_python = reachable_workspace_python(
        venv, account, state.programs, shown_anyway=lambda: namespaces_work(root), say=_say
    )
    database = start_database(state, secrets, account, given=given, supervisor=supervisor, say=_say)
    redis_url = start_broker(state, secrets, account, given=given, supervisor=supervisor, say=_say)
    addresses = Addresses(port=port, owner_url=database.owner_url, app_url=database.app_url, redis_url=redis_url)
    web = web_environment(state, secrets, addresses, workspace_python=workspace_python, inherited=os.environ)
    keep_for_commands(state, web, owner_url=database.owner_url, postgres_tools=database.tools)
    owner = supervised(owner_environment(web, database.owner_url), secrets)
    return Plan(root=root, home=state.home, port=port, web=supervised(web, secrets), owner=owner), addresses


def _prepare(state: State, plan: Plan, supervisor: Supervisor) -> list[Person]:
    """Schema, static files, demo people. Each step is safe to repeat."""
    started = time.monotonic()
    _step(plan.migrate(), supervisor)
    _collect_static_once(state, plan, supervisor)
    _step(plan.seed_demo(state.people_file), supervisor)
    _say(f"Database and demo are up to date ({time.monotonic() - started:.0f} s)")
    return read_people(state)


def _step(spec: Spec, supervisor: Supervisor) -> Child:
    done = supervisor.run(spec, seconds=_STEP_SECONDS)
    if done.exit_code:
        raise CannotStart(f"{spec.name} failed: {done.last_lines()} (log: {done.log})")
    return done


def _collect_static_once(state: State, plan: Plan, supervisor: Supervisor) -> None:
    """Only when a source or an installed package has changed."""
    stamp = state.home / "static.stamp"
    seen = _static_version(plan.root)
    if not stamp.exists() or stamp.read_text() != seen:
        _step(plan.collect_static(), supervisor)
        write_private(stamp, seen)


def _static_version(root: Path) -> str:
    digest = hashlib.sha256(str(root).encode())
    files = [path for path in sorted((root / "static").rglob("*")) if path.is_file()]
    for path in [*files, root / "requirements" / "run.txt"]:
        if path.exists():
            digest.update(f"{path}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _start_processes(plan: Plan, addresses: Addresses, supervisor: Supervisor) -> None:
    children = {spec.name: supervisor.start(spec) for spec in plan.processes()}
    for name, url in (
        ("The portal", f"{addresses.portal}/health/ready"),
        ("The proxy", f"{addresses.proxy}{_PROXY_HEALTH}"),
    ):
        supervisor.wait_for(name, partial(_answers, url), seconds=_READY_SECONDS)
    worker, patience = children["worker"], time.monotonic() + _WORKER_SECONDS
    supervisor.wait_for(
        "The worker", lambda: worker.said(_WORKER_READY) or time.monotonic() > patience, seconds=_READY_SECONDS
    )


def _stop(plan: Plan | None, supervisor: Supervisor) -> None:
    """First what sends work, then what does it; workspaces end while the database still takes notes."""
    for names in (["beat", "watch"], ["worker"], ["web", "proxy"]):
        supervisor.end(names)
    if plan is not None and (plan.root / "manage.py").exists():
        done = supervisor.run(plan.end_workspaces(), seconds=_END_WORKSPACES_SECONDS)
        if done.exit_code:
            _complain(f"Workspaces could not all be ended: {done.last_lines(1)} (log: {done.log})")
    supervisor.end(["valkey"])
    supervisor.end(["postgres"])


def _refuse_taken_ports(port: int) -> None:
    for number, user in ((port, "the portal"), (port + 1, "the workspace proxy")):
        if not is_free(number):
            raise CannotStart(
                f"Port {number} ({user}) is in use{_holder(number)}: "
                "end that, or choose another first port in STEELYARD_PORT."
            )


def _holder(port: int) -> str:
    """Who listens there, as far as this account may know."""
    try:
        for connection in psutil.net_connections("tcp"):
            if (
                connection.laddr
                and connection.laddr.port == port
                and connection.status == psutil.CONN_LISTEN
                and connection.pid
            ):
                return f" by process {connection.pid} ({psutil.Process(connection.pid).name()})"
    except (psutil.Error, OSError):
        return ""
    return ""


def _pids(supervisor: Supervisor) -> dict[str, int]:
    return {"up": os.getpid(), **supervisor.pids()}


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 (our own http:// addresses)
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _greet(state: State, addresses: Addresses, people: list[Person]) -> None:
    width = max([len(person["email"]) for person in people], default=0)
    lines = ["", f"Steelyard is ready: {addresses.portal}", f"API: {addresses.portal}/api/v1/docs", ""]
    for person in people:
        role = f"{person['role']} of {person['organization'] or 'the platform'}"
        lines.append(f"  {person['email']:<{width}}  {person['password']}  {role}")
    lines += [
        "",
        f"Tokens and addresses: {state.installation_file}",
        f"Logs: {state.logs}",
        "Ctrl-C ends it; files and data stay.",
        "",
    ]
    _say("\n".join(lines))


def _renew(write: Callable[[], None]) -> None:
    """A platform that runs is not ended by a disk that is full for the moment."""
    try:
        write()
    except OSError as error:
        _complain(f"The installation file could not be written: {describe(error)}")


def _say(text: str) -> None:
    """To a terminal that may be gone already."""
    try:
        print(text, flush=True)
    except OSError:
        return


def _complain(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        return
