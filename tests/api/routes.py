"""The API's routes as the URL map has them, for tests that are generated from it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from django.urls import URLPattern, URLResolver, get_resolver

from core.api.endpoint import Endpoint
from core.api.shapes import Contract, contract_of
from core.routes import Route, declared

_PARAMETER = re.compile(r"<(?:[a-z]+:)?([a-z_]+)>")


@dataclass(frozen=True)
class ApiRoute:
    path: str
    method: str
    view: type[Endpoint]

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def handler(self) -> Callable[..., object]:
        found: Callable[..., object] = getattr(self.view, self.method)
        return found

    @property
    def route(self) -> Route:
        found = declared(self.view.as_view(), self.method)
        assert found is not None
        return found

    @property
    def contract(self) -> Contract:
        found = contract_of(self.handler)
        assert found is not None
        return found

    @property
    def parameters(self) -> list[str]:
        return _PARAMETER.findall(self.path)

    def address(self, **values: object) -> str:
        return _PARAMETER.sub(lambda found: str(values[found[1]]), self.path)


@cache
def all_routes() -> tuple[ApiRoute, ...]:
    return tuple(
        ApiRoute(f"/{path}", method, entry.callback.cls)
        for path, entry in _patterns(get_resolver(), "")
        if hasattr(entry.callback, "cls")
        for method in ("get", "post", "put", "patch", "delete")
        if hasattr(entry.callback.cls, method)
    )


def mutating() -> list[ApiRoute]:
    return [route for route in all_routes() if route.method != "get"]


def lists() -> list[ApiRoute]:
    return [route for route in all_routes() if route.contract.listed and not route.parameters]


def with_objects() -> list[ApiRoute]:
    return [route for route in all_routes() if route.parameters]


def _patterns(resolver: URLResolver, prefix: str) -> list[tuple[str, URLPattern]]:
    found = []
    for entry in resolver.url_patterns:
        path = prefix + str(entry.pattern)
        found += _patterns(entry, path) if isinstance(entry, URLResolver) else [(path, entry)]
    return found
