"""What a route declares: who may call it and how audit names it. A route without a declaration fails the build."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

V = TypeVar("V", bound=Callable[..., object])

ANONYMOUS = "anonymous"
AUTHENTICATED = "authenticated"


@dataclass(frozen=True, slots=True)
class Route:
    """`permission`: a permission's name, AUTHENTICATED or ANONYMOUS. `verb`: the audit event's. `scoped` False: the
    view opens short scopes of its own, since it calls the network or streams. `also`: the verb of an act that a query
    field of a GET asks for."""

    permission: str
    verb: str
    scoped: bool = True
    also: str = ""


def route(*, permission: str, verb: str, scoped: bool = True, also: str = "") -> Callable[[V], V]:
    """Declare a view function or a method of a view class."""

    def declare(view: V) -> V:
        view.route = Route(permission=str(permission), verb=verb, scoped=scoped, also=also)  # type: ignore[attr-defined]
        return view

    return declare


def declared(callback: Callable[..., object], method: str) -> Route | None:
    """The declaration of a resolved URL callback for an HTTP method; None where there is none."""
    view_class = getattr(callback, "view_class", None) or getattr(callback, "cls", None)
    if view_class is not None:
        name = "get" if method == "HEAD" else method.lower()
        return getattr(getattr(view_class, name, None), "route", None)
    return getattr(callback, "route", None)
