"""What stops the start, and with which words."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from portal.environment import DEMO_SECRET, ROOT, Mode, database, read

PROPER = {
    "STEELYARD_ENVIRONMENT": "production",
    "STEELYARD_SECRET_KEY": "Zk3vTq9w-LxP0aYh5nE7rJ2sUcM8bDgF1oKiWmQyXzRpAtSvHuN4e6",
    "STEELYARD_FIELD_KEY": "3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "STEELYARD_PORTAL_ORIGIN": "https://steelyard.example.com",
    "STEELYARD_ALLOWED_HOSTS": "steelyard.example.com",
    "WORKSPACE_DOMAIN": "workspaces.example.net",
    "DATABASE_URL": "postgresql://steelyard_app:word@127.0.0.1:5432/steelyard",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
}
EMBEDDED = {"STEELYARD_ENVIRONMENT": "embedded", "STEELYARD_SECRET_KEY": PROPER["STEELYARD_SECRET_KEY"]}


class TestProduction:
    def test_a_proper_environment_is_taken(self):
        assert read(PROPER).mode is Mode.PRODUCTION

    @pytest.mark.parametrize(
        ("name", "value", "told"),
        [
            ("STEELYARD_SECRET_KEY", DEMO_SECRET, "a secret of at least 32 characters"),
            ("STEELYARD_SECRET_KEY", "short", "a secret of at least 32 characters"),
            ("STEELYARD_SECRET_KEY", None, "a secret of at least 32 characters"),
            ("STEELYARD_DEBUG", "1", "STEELYARD_DEBUG shows secrets"),
            ("STEELYARD_ALLOWED_HOSTS", "*", "without a wildcard"),
            ("STEELYARD_ALLOWED_HOSTS", "steelyard.example.com, *", "without a wildcard"),
            ("STEELYARD_ALLOWED_HOSTS", "*.example.com", "without a wildcard"),
            ("STEELYARD_ALLOWED_HOSTS", ".", "without a wildcard"),
            ("STEELYARD_ALLOWED_HOSTS", None, "must name the portal's hosts"),
            ("STEELYARD_PORTAL_ORIGIN", "http://steelyard.example.com", "must be an https:// address"),
            ("STEELYARD_PORTAL_ORIGIN", None, "must be an https:// address"),
            ("STEELYARD_FIELD_KEY", None, "must be 32 bytes"),
            ("STEELYARD_FIELD_KEY", "dG9vIHNob3J0", "must be 32 bytes"),
            ("STEELYARD_FIELD_KEY", "not base64 at all, by no means", "must be 32 bytes"),
            ("WORKSPACE_DOMAIN", None, "a domain of its own"),
            ("WORKSPACE_DOMAIN", "steelyard.example.com", "a domain of its own"),
            ("WORKSPACE_DOMAIN", "work.steelyard.example.com", "a domain of its own"),
            ("WORKSPACE_DOMAIN", "example.com", "a domain of its own"),
            ("STEELYARD_ENVIRONMENT", "prod", "must be one of embedded, production, check"),
            ("STEELYARD_PORT", "http", "a port number"),
            ("STEELYARD_PROXY_PORT", "70000", "a port number"),
            ("STEELYARD_API_REQUESTS_PER_MINUTE", "many", "a whole number"),
        ],
    )
    def test_an_unsafe_one_stops_the_start_with_its_name(self, name, value, told):
        variables = PROPER | {name: value} if value is not None else {k: v for k, v in PROPER.items() if k != name}

        with pytest.raises(ImproperlyConfigured, match=name) as caught:
            read(variables)

        assert told in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1

    def test_no_message_shows_a_secret(self):
        with pytest.raises(ImproperlyConfigured) as caught:
            read(PROPER | {"STEELYARD_SECRET_KEY": "hush-hush"})

        assert "hush-hush" not in str(caught.value)

    @pytest.mark.slow
    def test_djangos_own_deployment_check_finds_nothing(self):
        done = _manage("check", "--deploy", "--fail-level", "WARNING", **PROPER)

        assert done.returncode == 0, done.stderr
        assert "no issues" in done.stdout

    @pytest.mark.slow
    def test_every_command_refuses_an_unsafe_environment(self):
        done = _manage("check", **(PROPER | {"STEELYARD_DEBUG": "1"}))

        assert done.returncode != 0
        assert "STEELYARD_DEBUG shows secrets to visitors" in done.stderr


class TestEmbedded:
    def test_it_needs_a_secret_of_its_own_and_nothing_else(self):
        assert read(EMBEDDED).mode is Mode.EMBEDDED

    def test_the_demo_secret_is_refused_there_as_well(self):
        with pytest.raises(ImproperlyConfigured, match="STEELYARD_SECRET_KEY"):
            read(EMBEDDED | {"STEELYARD_SECRET_KEY": DEMO_SECRET})


class TestDatabase:
    def test_what_the_address_says_about_encryption_is_kept(self):
        found = database("postgresql://a:p%40ss@db.example.com:5433/name?sslmode=verify-full&sslrootcert=/ca.pem")

        assert found["PASSWORD"] == "p@ss"
        options = found["OPTIONS"]
        assert isinstance(options, dict)
        assert (options["sslmode"], options["sslrootcert"]) == ("verify-full", "/ca.pem")
        assert options["prepare_threshold"] is None

    def test_another_kind_of_server_is_refused(self):
        with pytest.raises(ImproperlyConfigured, match="must be a postgresql:// address, not mysql://"):
            database("mysql://a@b/c")


def _manage(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "STEELYARD_STATE": "/nonexistent", **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
