"""What reaches outside does so in one kind of place."""

from __future__ import annotations

import ast
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
APPS = ("core", "tenants", "billing", "provisioning", "mlops", "inference", "portal")
OUTSIDE = {"kubernetes", "stripe"}
READERS = {Path("portal/environment.py")}


def trees() -> list[tuple[Path, ast.Module]]:
    paths = [path for app in APPS for path in (ROOT / app).rglob("*.py")]
    return [(path.relative_to(ROOT), ast.parse(path.read_text())) for path in paths]


def imported(tree: ast.Module) -> set[str]:
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[0] for name in names}


class TestOutside:
    def test_kubernetes_and_stripe_are_imported_in_drivers_alone(self):
        elsewhere = [str(path) for path, tree in trees() if imported(tree) & OUTSIDE and "drivers" not in path.parts]

        assert elsewhere == []

    def test_the_environment_is_read_in_one_place(self):
        """`portal.up` hands an environment on to the processes it starts; settings read theirs once."""
        readers = [
            str(path)
            for path, tree in trees()
            if path not in READERS
            and path.parts[:2] not in {("portal", "up"), ("portal", "backup")}
            and "local" not in path.parts
            and path.parts[:3] != ("portal", "management", "commands")
            and any(
                isinstance(node, ast.Attribute)
                and node.attr in {"environ", "getenv"}
                and isinstance(node.value, ast.Name)
                and node.value.id == "os"
                for node in ast.walk(tree)
            )
        ]

        assert [name for name in readers if name not in {"portal/wsgi.py", "portal/celery.py"}] == []

    def test_every_task_name_is_registered(self):
        names = {
            str(node.value.value)
            for path, tree in trees()
            if path.name == "enums.py"
            for found in ast.walk(tree)
            if isinstance(found, ast.ClassDef) and found.name == "TaskName"
            for node in found.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        }
        scheduled = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
        registered = {
            keyword.value.attr
            for path, tree in trees()
            if path.name == "tasks.py"
            for found in ast.walk(tree)
            if isinstance(found, ast.FunctionDef)
            for decorator in found.decorator_list
            if isinstance(decorator, ast.Call)
            for keyword in decorator.keywords
            if keyword.arg == "name" and isinstance(keyword.value, ast.Attribute)
        }

        assert scheduled <= names
        assert {name.split(".")[1].upper() for name in names} == registered
