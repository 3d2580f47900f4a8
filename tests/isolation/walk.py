"""Every address that the portal and the API serve, asked for with the ids of somebody's objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import cast

from django.http import HttpResponse
from django.test import Client

from core.api.shapes import contract_of
from core.routes import ANONYMOUS, Route, declared
from tenants.api.place_inputs import ClosingInput
from tests import house
from tests.api.ask import send
from tests.architecture.test_routes import FOREIGN, patterns
from tests.house import Tenant
from tests.isolation.world import CATALOGUE, Ids

_PARAMETER = re.compile(r"<(?:[a-z]+:)?([a-z_]+)>")
_READS = ("get",)
_WRITES = ("post", "put", "patch", "delete")


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
    def route(self) -> Route:
        found = declared(self.callback, self.method)
        assert found is not None, self
        return found

    @property
    def parameters(self) -> list[str]:
        return _PARAMETER.findall(self.path)

    @property
    def names_an_object(self) -> bool:
        return bool(set(self.parameters) - CATALOGUE)

    @property
    def filters(self) -> frozenset[str]:
        handler = getattr(self.view, self.method, None)
        return getattr(handler, "query_names", frozenset({"project", "volume", "month", "actor", "mine", "before"}))

    def of(self, ids: Ids) -> str:
        return _PARAMETER.sub(lambda found: str(ids[found[1]]), self.path)

    def body(self, tenant: Tenant, ids: Ids) -> object:
        """A body that means something, about this tenant's things."""
        if self.view is None:
            return None
        contract = contract_of(getattr(self.view, self.method))
        example = contract.input.example if contract and contract.input else None
        if self.path == "/api/v1/memberships":
            example = {**(example or {}), "user": str(ids["member_id"])}
        if self.path == "/api/v1/quotas" and self.method == "post":
            return {**_A_QUOTA, "scope": {"kind": "user", "id": str(ids["member_id"])}}
        if self.path == "/api/v1/quota-requests":
            return {**_A_WISH, "quota": str(ids["quota_id"])}
        if isinstance(example, dict) and "project" in example:
            return {**example, "project": f"{tenant.organization.slug}/{ids['project_slug']}"}
        if contract and contract.input is ClosingInput:
            return {"slug": tenant.organization.slug}
        return example


@cache
def addresses() -> tuple[Address, ...]:
    return tuple(
        Address(f"/{path}", method, entry.callback)
        for path, entry in patterns()
        if not FOREIGN.match(entry.callback.__module__) and "^" not in path
        for method in _methods(entry.callback)
    )


def _methods(callback: Callable[..., object]) -> tuple[str, ...]:
    view = getattr(callback, "cls", None)
    if view is not None:
        return tuple(name for name in (*_READS, *_WRITES) if hasattr(view, name))
    return _page_methods(callback)


def _page_methods(callback: Callable[..., object]) -> tuple[str, ...]:
    """What `require_GET` and its like say, asked of the decorated view itself."""
    allowed = _allowed(callback)
    return tuple(name.lower() for name in ("GET", "POST") if name in allowed)


def _allowed(callback: Callable[..., object]) -> set[str]:
    found: object = callback
    while found is not None:
        for cell in getattr(found, "__closure__", None) or ():
            content = cell.cell_contents
            if isinstance(content, list | tuple) and content and set(content) <= {"GET", "POST", "HEAD", "PUT"}:
                return set(content)
        found = getattr(found, "__wrapped__", None)
    raise AssertionError(f"{callback} does not say which methods it takes.")


def reads() -> list[Address]:
    """What is read about somebody's things; what everybody may read (the API's description, health) is left out."""
    public = [one for one in addresses() if one.route.permission == ANONYMOUS and not one.route.scoped]
    return [one for one in addresses() if one.method in _READS and one not in public]


def writes() -> list[Address]:
    return [one for one in addresses() if one.method in _WRITES]


def ask(client: Client, one: Address, tenant: Tenant, ids: Ids, query: str = "") -> HttpResponse:
    path = one.of(ids) + query
    if one.view is not None:
        return cast(HttpResponse, send(client, one.method, path, one.body(tenant, ids)))
    return cast(HttpResponse, client.get(path) if one.method == "get" else client.post(path, form(one, ids)))


_A_WISH: dict[str, object] = {"limit": 99999, "justification": "The benchmark of the new encoder."}
_A_QUOTA: dict[str, object] = {"resource": "tokens_per_minute", "limit": 9}


def form(one: Address, ids: Ids) -> dict[str, object]:
    forms: dict[str, dict[str, object]] = {
        **_organization_forms(ids),
        **_sign_in_forms(),
        "/launch": {
            "project": ids["project_slug"],
            "image": "jupyterlab",
            "name": "mine",
            "disk_gib": 1,
            "kind": "workspace",
            "shape": "cpu-4",
        },
        **_policy_forms(),
        "/tokens": {"name": "script", "expires": "30"},
        "/quotas/<uuid:quota_id>/limit": {"limit": "12"},
        "/quotas/<uuid:quota_id>/ask": _A_WISH,
        "/quotas/define": {**_A_QUOTA, "place": f"user:{ids['member_id']}"},
        "/audit/views": {"name": "Stops", "query": '{"verb": "workload.stopped"}'},
        "/audit/streams/new": {"name": "lake", "url": "https://lake.example/in"},
        "/audit/streams/<uuid:stream_id>/change": {"name": "lake", "url": "https://lake.example/in"},
        "/audit/keeping/set": {"keep_days": "400"},
        "/console/tenants/<slug:slug>/quota": {"resource": "accelerators", "limit": "5"},
    }
    return forms.get(one.path, {})


def _organization_forms(ids: Ids) -> dict[str, dict[str, object]]:
    facts: dict[str, object] = {"name": "Seeing", "environment": "prod", "data_class": "internal"}
    place, sure = f"project:{ids['project_id']}", {"confirmed": ids["organization_slug"], "password": house.PASSWORD}
    return {
        "/organization/settings/change": {"name": "Other", "time_zone": "Europe/Paris"},
        "/organization/transfer": {"to": ids["member_id"], "then": "admin", **sure},
        "/organization/close": sure,
        "/organization/members/<uuid:member_id>/give": {"place": place, "role": "viewer"},
        "/organization/invitations": {"email": "else@new.example", "place": place, "role": "viewer"},
        "/organization/teams/new": {"name": "Seeing", "slug": "seeing"},
        "/organization/teams/<uuid:team_id>/rename": {"name": "Other"},
        "/organization/projects/new": {**facts, "slug": "robots"},
        "/organization/projects/<uuid:project_id>/change": facts,
        "/organization/service-accounts/new": {"name": "daily"},
    }


def _policy_forms() -> dict[str, dict[str, object]]:
    rule: dict[str, object] = {"title": "Large", "accelerators": "4", "mode": "off"}
    return {
        "/policies/new": {**rule, "kind": "approval_above", "slug": "large-ones"},
        "/policies/preview": {**rule, "kind": "approval_above"},
        "/policies/<uuid:policy_id>": rule,
    }


def _sign_in_forms() -> dict[str, dict[str, object]]:
    provider = {"name": "Own", "issuer": "https://id.example", "client_id": "c", "group_claim": "groups"}
    return {
        "/organization/service-accounts/<uuid:account_id>/tokens": {"name": "nightly", "expires": "30"},
        "/organization/sign-in/second-factor": {"required": "no"},
        "/organization/sign-in/provider": {**provider, "version": "1"},
        "/organization/sign-in/groups": {"group": "other", "role": "auditor", "place": "here"},
        "/organization/sign-in/domains": {"domain": "other.example"},
    }


def queries(one: Address, ids: Ids) -> Iterator[str]:
    """Filters that name somebody else's things."""
    yield ""
    if one.method != "get" or one.names_an_object:
        return
    for name in sorted(one.filters & {"project", "workload", "volume", "owner", "actor", "user"}):
        yield f"?{name}={ids['project_id'] if name == 'project' else ids['workload_id']}"
        if name == "project":
            yield f"?{name}={ids['organization_slug']}/{ids['project_slug']}"
