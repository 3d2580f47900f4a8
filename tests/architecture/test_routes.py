"""Every route declares who may use it and how audit names it; what is not declared is denied."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from rest_framework.views import APIView

from core.api.endpoint import Endpoint
from core.api.shapes import contract_of
from core.routes import ANONYMOUS, AUTHENTICATED, declared
from core.types import NOBODY, Actor, ActorKind
from portal.isolation.routes import PACKAGES, patterns
from tenants.enums import Permission, PlatformPermission

METHODS = ("get", "post", "put", "patch", "delete")
VERB = re.compile(r"^[a-z_]+\.[a-z_]+$")


@dataclass(frozen=True)
class Served:
    path: str
    method: str
    callback: Callable[..., object]

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"


def served() -> list[Served]:
    """Every route and method of ours; the packages that we mount guard themselves."""
    return [
        Served(path, method, entry.callback)
        for path, entry in patterns()
        if not PACKAGES.match(entry.callback.__module__)
        for method in _methods(entry.callback)
    ]


def _methods(callback) -> tuple[str, ...]:
    view = getattr(callback, "cls", None) or getattr(callback, "view_class", None)
    return tuple(name for name in METHODS if hasattr(view, name)) if view else ("get",)


def routes() -> list[Served]:
    return [one for one in served() if declared(one.callback, one.method) is not None]


@pytest.mark.parametrize("one", served(), ids=str)
class TestEveryRoute:
    def test_declares_a_permission_and_a_verb(self, one):
        route = declared(one.callback, one.method)

        assert route is not None, f"{one} declares no @route."
        assert route.permission in {ANONYMOUS, AUTHENTICATED, *Permission.values, *PlatformPermission.values}
        assert VERB.match(route.verb), route.verb

    def test_of_the_api_declares_its_shape_and_runs_in_a_scope(self, one):
        view = getattr(one.callback, "cls", None)
        if view is None or not issubclass(view, APIView):
            return
        route = declared(one.callback, one.method)
        assert issubclass(view, Endpoint), f"{view} is no Endpoint."
        assert contract_of(getattr(view, one.method)) is not None, f"{one} declares no @shape."
        if one.method == "post":
            assert route is not None
            by_itself = route.permission in PlatformPermission.values  # Endpoint.as_platform opens one
            assert route.scoped or by_itself, f"{one} has no transaction that Idempotency-Key could use."

    def test_of_the_api_is_not_open_to_everybody(self, one):
        route = declared(one.callback, one.method)
        if getattr(one.callback, "cls", None) is not None:
            assert route is not None
            assert route.permission != ANONYMOUS


def test_routes_that_are_not_declared_are_denied(rf, db):
    class Forgotten(Endpoint):
        def get(self, request):
            raise AssertionError("reached")

    request = rf.get("/forgotten")
    request.actor = Actor(kind=ActorKind.USER, id=NOBODY, organization_id=NOBODY)
    request.user = None

    assert Forgotten.as_view()(request).status_code == 403


def test_no_endpoint_catches_a_domain_error():
    """Denials are noted where errors become answers; an endpoint that swallows them leaves a gap in the audit log."""
    places = [path for app in ("tenants", "billing", "provisioning") for path in _sources(app)]
    handlers = [
        f"{path}:{node.lineno}"
        for path in places
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler) and "SteelyardError" in ast.dump(node)
    ]

    assert handlers == []


def _sources(app: str) -> list[Path]:
    return sorted((Path(settings.BASE_DIR) / app / "api").glob("*.py"))
