from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest
from django.conf import settings as live
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from portal import health
from portal.api.documentation import document

pytestmark = pytest.mark.django_db


class TestHealth:
    def test_a_living_process_says_so_without_a_database(self):
        assert Client().get("/health/live").json() == {"status": "live"}

    def test_it_is_ready_when_every_part_is(self):
        response = Client().get("/health/ready")

        assert response.json() == {
            "status": "ready",
            "parts": {"database": "ok", "broker": "ok", "migrations": "ok"},
        }
        assert response.status_code == 200

    def test_a_broker_that_is_away_is_named(self, settings):
        settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"

        response = Client().get("/health/ready")

        assert response.status_code == 503
        assert response.json()["parts"] == {"database": "ok", "broker": "failing", "migrations": "ok"}

    def test_a_missing_migration_is_named(self, monkeypatch):
        monkeypatch.setattr(health, "_seen_migrated", set())
        monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda *_: [("core", "0009")])

        response = Client().get("/health/ready")

        assert response.status_code == 503
        assert response.json()["parts"]["migrations"] == "failing"

    def test_a_database_that_is_away_is_named(self, monkeypatch):
        def away(*_args, **_kwargs):
            raise psycopg.OperationalError

        monkeypatch.setattr(psycopg, "connect", away)

        assert Client().get("/health/ready").json()["parts"]["database"] == "failing"


class TestMetrics:
    def test_this_machine_reads_them(self):
        Client().get("/api/v1/me")

        body = Client().get("/metrics").content.decode()

        assert 'steelyard_api_requests_total{method="GET",route="api/v1/me",status="401"}' in body

    @pytest.mark.parametrize(
        "visit", [{"REMOTE_ADDR": "192.0.2.7"}, {"REMOTE_ADDR": ""}, {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}]
    )
    def test_others_find_nothing(self, visit):
        assert Client().get("/metrics", **visit).status_code == 404


class TestDescription:
    def test_the_file_in_the_repository_is_current(self):
        call_command("openapi", check=True)

    def test_drift_is_one_line(self, settings, tmp_path):
        settings.BASE_DIR = tmp_path

        with pytest.raises(CommandError, match=r"^docs/openapi.json is not what the code says"):
            call_command("openapi", check=True)

    def test_it_is_served_to_everybody(self):
        response = Client().get("/api/v1/openapi.json")

        assert response.content == document()
        assert response.json()["openapi"].startswith("3.1")

    def test_every_operation_has_an_answer_for_what_can_go_wrong(self):
        for path, operations in json.loads(document())["paths"].items():
            for method, operation in operations.items():
                assert {"400", "401", "403", "404", "406", "429"} <= operation["responses"].keys(), (method, path)
                assert operation["summary"]

    def test_the_page_runs_no_inline_script(self):
        response = Client().get("/api/v1/docs")

        assert response.status_code == 200
        policy = response.headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
        assert b"<script>" not in response.content

    def test_its_files_are_our_own(self):
        page = Client().get("/api/v1/docs").content.decode()

        assert "https://" not in page
        assert (Path(live.BASE_DIR) / "static" / "src" / "js" / "api-docs.js").exists()
