"""One world for each module, built and asked under the web role's own login."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import setup_databases, teardown_databases

from provisioning.drivers import registry
from tests.isolation import world as worlds
from tests.isolation.web_role import django_logged_in_as, owner_login, web_login


@pytest.fixture(scope="session")
def database(django_db_setup, django_db_blocker):
    """The tests' own database, also where no test of the run is marked to need it: these here are on their own."""
    with django_db_blocker.unblock():
        if connection.settings_dict["NAME"].startswith("test_"):
            yield
            return
        made = setup_databases(verbosity=0, interactive=False, aliases={"default": None}, serialized_aliases=[])
        yield
        teardown_databases(made, verbosity=0)


@pytest.fixture(scope="module")
def world(database, django_db_blocker):
    with django_db_blocker.unblock():
        login = web_login()
        with owner_login().connect() as owner:
            worlds.empty(owner)
        with django_logged_in_as(login):
            built = worlds.build()
            with registry.using("local", built.machine):
                yield built
        with owner_login().connect() as owner:
            worlds.empty(owner)


@pytest.fixture
def web(world):
    """A bare connection under the web role, rolled back at the end."""
    with web_login().connect() as found:
        yield found
        found.rollback()


@pytest.fixture
def owner(world):
    with owner_login().connect() as found:
        yield found
        found.rollback()
