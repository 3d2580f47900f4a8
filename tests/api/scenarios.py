"""One act that succeeds for each mutating route of the API. A route without one fails the build.

A scenario gets a tenant like aurora and gives what to send: by whom, to which object, with which body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tenants.models import AccessToken, Quota
from tests import house
from tests.house import Tenant


@dataclass(frozen=True)
class Act:
    person: str
    body: object = None
    ids: dict[str, object] = field(default_factory=dict)


Scenario = Callable[[Tenant], Act]


def _make_token(_tenant: Tenant) -> Act:
    return Act("alice", {"name": "laptop"})


def _revoke_token(tenant: Tenant) -> Act:
    house.token_for(tenant, "alice")
    with tenant.scope():
        token = AccessToken.objects.filter(user=tenant.people["alice"]).latest("pk")
    return Act("alice", ids={"token_id": token.pk})


def _set_limit(tenant: Tenant) -> Act:
    return Act("olivia", {"limit": 11}, {"quota_id": quota_of(tenant).pk})


def quota_of(tenant: Tenant) -> Quota:
    with tenant.scope():
        return Quota.objects.filter(project__in=tenant.projects.values()).earliest("pk")


SCENARIOS: dict[str, Scenario] = {
    "POST /api/v1/tokens": _make_token,
    "DELETE /api/v1/tokens/<uuid:token_id>": _revoke_token,
    "PUT /api/v1/quotas/<uuid:quota_id>": _set_limit,
}
