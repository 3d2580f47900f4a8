"""Every address that this installation serves, read off its URL map at the time of asking."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

from core.api.shapes import contract_of
from core.routes import Route, declared

PACKAGES = re.compile(r"^(allauth|django|drf_spectacular|whitenoise)\.")
"""What they bring guards itself; `portal.middleware.door` lists what of it is let through."""

READS = ("get",)
WRITES = ("post", "put", "patch", "delete")
_PARAMETER = re.compile(r"<(?:[a-z]+:)?([a-z_]+)>")

CATALOGUE = frozenset(
    {"region_id", "accelerator_id", "shape_id", "image_id", "cluster_id", "sku_id", "book_id", "month"}
)
"""Names in addresses that mean the same for everybody."""


@dataclass(frozen=True)
class Address:
    path: str
    method: str
    callback: Callable[..., object]

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"

    @property
    def is_api(self) -> bool:
        return self.path.startswith("/api/")

    @property
    def view(self) -> type | None:
        return getattr(self.callback, "cls", None)

    @property
    def declared(self) -> Route | None:
        return declared(self.callback, self.method)

    @property
    def route(self) -> Route:
        """The declaration. The architecture's tests keep it from being missing."""
        found = self.declared
        assert found is not None, self
        return found

    @property
    def reads(self) -> bool:
        return self.method in READS

    @property
    def parameters(self) -> list[str]:
        return _PARAMETER.findall(self.path)

    @property
    def names_an_object(self) -> bool:
        return bool(set(self.parameters) - CATALOGUE)

    def of(self, ids: Mapping[str, object]) -> str:
        return _PARAMETER.sub(lambda found: str(ids[found[1]]), self.path)

    @property
    def example(self) -> Mapping[str, object] | None:
        """The body that the API's description shows for it."""
        contract = contract_of(getattr(self.view, self.method)) if self.view is not None else None
        return contract.input.example if contract and contract.input else None


def patterns(resolver: URLResolver | None = None, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for entry in (resolver or get_resolver()).url_patterns:
        path = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from patterns(entry, path)
        else:
            yield path, entry


def addresses() -> tuple[Address, ...]:
    return tuple(
        Address(f"/{path}", method, entry.callback)
        for path, entry in patterns()
        if not PACKAGES.match(entry.callback.__module__) and "^" not in path
        for method in _methods(entry.callback)
    )


def addresses_of_packages() -> int:
    """How many addresses the packages have that guard themselves: nothing is asked of them here."""
    return sum(1 for _, entry in patterns() if PACKAGES.match(entry.callback.__module__))


def _methods(callback: Callable[..., object]) -> tuple[str, ...]:
    view = getattr(callback, "cls", None)
    if view is not None:
        return tuple(name for name in (*READS, *WRITES) if hasattr(view, name))
    allowed = _allowed(callback)
    return tuple(name.lower() for name in ("GET", "POST") if name in allowed)


def _allowed(callback: Callable[..., object]) -> set[str]:
    """What `require_GET` and its like say, asked of the decorated view itself; both where nothing is said."""
    found: object = callback
    while found is not None:
        for cell in getattr(found, "__closure__", None) or ():
            content = cell.cell_contents
            if isinstance(content, list | tuple) and content and set(content) <= {"GET", "POST", "HEAD", "PUT"}:
                return set(content)
        found = getattr(found, "__wrapped__", None)
    return {"GET", "POST"}
