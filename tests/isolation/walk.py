"""Every address that the portal and the API serve, asked for with the ids of somebody's objects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import cast

from django.http import HttpResponse
from django.test import Client

from core.api.shapes import contract_of
from core.routes import ANONYMOUS
from portal.isolation import routes
from portal.isolation.routes import Address
from tenants.api.place_inputs import ClosingInput
from tests import house
from tests.api.ask import send
from tests.house import Tenant
from tests.isolation.world import Ids


def filters(one: Address) -> frozenset[str]:
    handler = getattr(one.view, one.method, None)
    return getattr(handler, "query_names", frozenset({"project", "volume", "month", "actor", "mine", "before"}))


def body(one: Address, tenant: Tenant, ids: Ids) -> object:
    """A body that means something, about this tenant's things."""
    example = one.example
    if one.path == "/api/v1/memberships":
        example = {**(example or {}), "user": str(ids["member_id"])}
    if one.path == "/api/v1/quotas" and one.method == "post":
        return {**_A_QUOTA, "scope": {"kind": "user", "id": str(ids["member_id"])}}
    if one.path == "/api/v1/quota-requests":
        return {**_A_WISH, "quota": str(ids["quota_id"])}
    if isinstance(example, dict) and "project" in example:
        return {**example, "project": f"{tenant.organization.slug}/{ids['project_slug']}"}
    contract = contract_of(getattr(one.view, one.method))
    return {"slug": tenant.organization.slug} if contract and contract.input is ClosingInput else example


addresses = cache(routes.addresses)


def reads() -> list[Address]:
    """What is read about somebody's things; what everybody may read (the API's description, health) is left out."""
    public = [one for one in addresses() if one.route.permission == ANONYMOUS and not one.route.scoped]
    return [one for one in addresses() if one.reads and one not in public]


def writes() -> list[Address]:
    return [one for one in addresses() if not one.reads]


def ask(client: Client, one: Address, tenant: Tenant, ids: Ids, query: str = "") -> HttpResponse:
    path = one.of(ids) + query
    if one.view is not None:
        return cast(HttpResponse, send(client, one.method, path, body(one, tenant, ids)))
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
    for name in sorted(filters(one) & {"project", "workload", "volume", "owner", "actor", "user"}):
        yield f"?{name}={ids['project_id'] if name == 'project' else ids['workload_id']}"
        if name == "project":
            yield f"?{name}={ids['organization_slug']}/{ids['project_slug']}"
