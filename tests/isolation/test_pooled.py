"""A scope is a transaction, so it works through a PgBouncer that gives each transaction another connection."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import psycopg
import pytest
from django.db import connection

from portal.up.accounts import server_account
from portal.up.ports import free_port
from tenants.models import Project
from tests import house
from tests.isolation.web_role import Login, django_logged_in_as, web_login

BOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
pytestmark = pytest.mark.skipif(BOUNCER is None, reason="PgBouncer is not installed: apt-get install pgbouncer")


@pytest.fixture(scope="module")
def pooled(world):
    """The web role's login through a bouncer that has one connection for all."""
    login, port, account = web_login(), free_port(), server_account()
    folder = Path(tempfile.mkdtemp(prefix="steelyard-pgbouncer-"))
    (folder / "users").write_text(f'"{login.user}" "{login.password}"\n')
    (folder / "ini").write_text(
        f"[databases]\n* = host={login.host} port={login.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {folder}/users\n"
        "pool_mode = transaction\ndefault_pool_size = 1\nignore_startup_parameters = extra_float_digits,options\n"
    )
    for path in (folder, folder / "users", folder / "ini"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    process = subprocess.Popen(
        [str(BOUNCER), "-q", str(folder / "ini")], cwd="/", stderr=subprocess.DEVNULL, **account.identity
    )
    through = replace(login, host="127.0.0.1", port=port)
    _wait_for(through)
    yield through
    process.terminate()
    process.wait(10)
    shutil.rmtree(folder)


def _wait_for(login: Login) -> None:
    deadline = time.monotonic() + 15
    while True:
        try:
            login.connect().close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_scopes_of_two_organisations_interleave_on_one_connection(world, pooled):
    barrier = Barrier(4)

    def look(number: int) -> set[tuple[str, ...]]:
        tenant = (world.aurora, world.borealis)[number % 2]
        barrier.wait(timeout=30)
        found = set()
        try:
            for _ in range(25):
                with tenant.scope():
                    found.add(tuple(Project._base_manager.order_by("slug").values_list("slug", flat=True)))
        finally:
            connection.close()
        return found

    with django_logged_in_as(pooled), ThreadPoolExecutor(4) as pool:
        found = list(pool.map(look, range(4)))

    assert found == [{("language", "vision")}, {("drugs",)}] * 2


def test_nothing_of_a_scope_is_left_on_the_connection(world, pooled):
    with django_logged_in_as(pooled):
        with world.aurora.scope():
            assert Project.objects.count() == 2
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_user::text, steelyard_organization()")
            assert cursor.fetchone() == ("steelyard_app", None)
            cursor.execute("SELECT count(*) FROM tenants_project")
            assert cursor.fetchone() == (0,)


def test_pages_and_api_work_through_it(world, pooled):
    with django_logged_in_as(pooled):
        page = house.client_for(world.aurora, "alice").get("/workspaces")
        listed = house.api_for(world.borealis, "charlie").get("/api/v1/workloads").json()["results"]
        launched = house.client_for(world.aurora, "alice").get("/launch")

    assert "aurora-notes" in page.content.decode()
    names = {row["name"] for row in listed}
    assert "borealis-notes" in names
    assert all(name.startswith("borealis-") for name in names)
    assert launched.status_code == 200
