"""The rules of the house that no linter sees, read off the models and the database."""

from __future__ import annotations

import ast
from decimal import Decimal
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection, models

ROOT = Path(settings.BASE_DIR)
OURS = ("core", "tenants", "billing", "provisioning", "mlops", "inference", "portal")
ORDER = {name: rank for rank, name in enumerate(OURS)}
GLOBAL_TABLES = {
    "tenants.User",
    "tenants.PlatformPolicy",
    "tenants.PlatformPolicyVersion",
    "billing.Sku",
    "billing.PriceBook",
    "billing.Price",
    "billing.Seller",
    "billing.TaxRate",
    "provisioning.Region",
    "provisioning.Cluster",
    "provisioning.ClusterAccess",
    "provisioning.Node",
    "provisioning.CapacityInterval",
    "provisioning.Leak",
    "provisioning.AcceleratorType",
    "provisioning.Shape",
    "provisioning.Image",
    "portal.IsolationReport",
}
PLAIN_ORGANIZATION = {
    "core.AuditEvent",
    "core.AuditCut",
    "core.AuditRetention",
    "core.AuditView",
    "core.AuditStream",
    "core.IdempotencyKey",
}


def our_models() -> list[type[models.Model]]:
    return [model for name in OURS for model in apps.get_app_config(name).get_models() if not model._meta.proxy]


def tenant_owned() -> list[type[models.Model]]:
    return [model for model in our_models() if model._meta.label not in GLOBAL_TABLES]


class TestTables:
    def test_every_table_reaches_an_organisation_or_is_listed_as_global(self):
        without = [
            model._meta.label
            for model in tenant_owned()
            if model._meta.label != "tenants.Organization"
            and not any(field.attname == "organization_id" for field in model._meta.concrete_fields)
        ]

        assert without == []

    def test_what_lies_above_is_never_a_foreign_key(self):
        upward = [
            f"{model._meta.label}.{field.name} → {field.related_model._meta.label}"
            for model in our_models()
            for field in model._meta.get_fields()
            if field.concrete
            and field.related_model is not None
            and field.related_model._meta.app_label in ORDER
            and ORDER[field.related_model._meta.app_label] > ORDER[model._meta.app_label]
        ]

        assert upward == []

    def test_no_amount_is_a_float(self):
        floats = [
            f"{model._meta.label}.{field.name}"
            for model in our_models()
            for field in model._meta.get_fields()
            if isinstance(field, models.FloatField)
        ]

        assert floats == []
        assert isinstance(Decimal("1"), Decimal)


@pytest.mark.django_db
class TestRowLevelSecurity:
    def test_every_tenant_table_has_it_forced(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity")
            secured = {row[0] for row in cursor.fetchall()}

        assert {model._meta.db_table for model in tenant_owned()} - secured == set()

    def test_every_key_between_tenant_tables_is_composite_too(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT conname FROM pg_constraint WHERE contype = 'f'")
            constraints = {row[0] for row in cursor.fetchall()}
        wanted = {
            f"{model._meta.db_table}_{field.column}_tenant"[:63]
            for model in tenant_owned()
            for field in model._meta.local_fields
            if isinstance(field, models.ForeignKey)
            and field.name != "organization"
            and any(other.name == "organization" for other in field.related_model._meta.local_fields)
        }

        assert wanted - constraints == set()

    def test_the_web_role_owns_nothing(self):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT relname FROM pg_class JOIN pg_roles ON pg_roles.oid = relowner"
                " WHERE rolname IN ('steelyard_app', 'steelyard_platform')"
            )
            owned = cursor.fetchall()

        assert owned == []

    def test_definer_functions_are_a_listed_set_with_a_fixed_search_path(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT proname, proconfig FROM pg_proc WHERE prosecdef AND proname LIKE 'steelyard%'")
            found = dict(cursor.fetchall())

        assert set(found) == DEFINER_FUNCTIONS
        assert all(config and any("search_path" in word for word in config) for config in found.values())


DEFINER_FUNCTIONS = {
    "steelyard_organizations_of",
    "steelyard_token_by_hash",
    "steelyard_provider_by_slug",
    "steelyard_provider_by_domain",
    "steelyard_domains_to_check",
    "steelyard_invitation_by_hash",
    "steelyard_invitations_to_mail",
    "steelyard_due_approvals",
    "steelyard_letters_to_mail",
    "steelyard_quotas_raised_until",
    "steelyard_quotas_that_drift",
    "steelyard_due_workloads",
    "steelyard_running_workloads",
    "steelyard_workloads_to_probe",
    "steelyard_placed_on",
    "steelyard_placed_workloads",
    "steelyard_ahead_in_queue",
    "steelyard_volumes_to_purge",
    "steelyard_entry_code_by_hash",
    "steelyard_workspace_entry_by_hash",
    "steelyard_unsealed_chains",
    "steelyard_due_audit_streams",
    "steelyard_audit_retentions",
}
"""What must be answered before a tenant is known. Each returns ids only."""


def python_files() -> list[Path]:
    return [path for app in OURS for path in (ROOT / app).rglob("*.py")]


class TestCode:
    def test_no_import_stands_inside_a_function(self):
        inside = [
            f"{path.relative_to(ROOT)}:{inner.lineno}"
            for path in python_files()
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for inner in ast.walk(node)
            if isinstance(inner, ast.Import | ast.ImportFrom)
        ]

        assert inside == []

    def test_modules_stay_readable(self):
        long = {
            str(path.relative_to(ROOT)): count
            for path in python_files()
            if "migrations" not in path.parts and (count := len(path.read_text().splitlines())) > 420
        }

        assert long == {}

    def test_functions_stay_readable(self):
        long = [
            f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
            for path in python_files()
            if "migrations" not in path.parts
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.end_lineno or node.lineno) - node.lineno > 50
        ]

        assert long == []

    def test_no_module_is_a_drawer(self):
        drawers = {"utils", "helpers", "manager", "processor", "common", "misc"}

        assert [str(path) for path in python_files() if path.stem in drawers] == []

    def test_every_app_says_what_it_owns(self):
        headings = ("## Owns", "## Does not own", "## Invariants", "## Words")
        missing = [
            f"{app}: {heading}"
            for app in OURS
            for heading in headings
            if heading not in ((ROOT / app / "README.md").read_text() if (ROOT / app / "README.md").exists() else "")
        ]

        assert missing == []
