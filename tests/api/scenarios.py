"""One act that succeeds for each mutating route of the API. A route without one fails the build.

A scenario gets a tenant like aurora and gives what to send: by whom, to which object, with which body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from django.utils import timezone

from provisioning.api.inputs import LaunchInput
from provisioning.models import Workload
from provisioning.services import wishes
from tenants.models import AccessToken, Quota
from tests import governed, house
from tests.house import Tenant
from tests.provisioning import stage


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


def _launch(_tenant: Tenant) -> Act:
    stage.open_shop()
    return Act("alice", LaunchInput.example)


def _rename(tenant: Tenant) -> Act:
    return Act("alice", {"name": "training"}, {"workload_id": running(tenant).pk})


def _wish_for_running(tenant: Tenant) -> Act:
    return Act("alice", ids={"workload_id": running(tenant).pk})


def _wish_for_stopped(tenant: Tenant) -> Act:
    return Act("alice", ids={"workload_id": stopped(tenant).pk})


def _decide(tenant: Tenant) -> Act:
    return Act("olivia", {"comment": "Go on."}, {"approval_id": governed.asked(tenant).pk})


def _withdraw(tenant: Tenant) -> Act:
    return Act("alice", ids={"approval_id": governed.asked(tenant).pk})


def _force_a_delete(tenant: Tenant) -> Act:
    return Act("olivia", ids={"workload_id": hanging(tenant).pk})


def hanging(tenant: Tenant) -> Workload:
    """Alice's notebook, being deleted on a cluster that does not answer."""
    workload = running(tenant)
    stage.wish(tenant, "alice", wishes.delete, workload, timezone.now())
    return stage.fresh(tenant, workload)


def running(tenant: Tenant) -> Workload:
    """Alice's notebook, up for a minute."""
    stage.open_shop()
    clock = stage.Clock(timezone.now() - timedelta(minutes=2))
    workload = stage.launch(tenant, now=clock.now)
    return stage.settle(tenant, workload, stage.Machine(clock), clock)


def stopped(tenant: Tenant) -> Workload:
    stage.open_shop()
    clock = stage.Clock(timezone.now() - timedelta(minutes=2))
    machine = stage.Machine(clock)
    workload = stage.settle(tenant, stage.launch(tenant, now=clock.now), machine, clock)
    stage.wish(tenant, "alice", wishes.stop, workload, clock.now)
    return stage.settle(tenant, workload, machine, clock)


def quota_of(tenant: Tenant) -> Quota:
    with tenant.scope():
        return Quota.objects.filter(project__in=tenant.projects.values()).earliest("pk")


_WORKLOAD = "/api/v1/workloads/<uuid:workload_id>"
SCENARIOS: dict[str, Scenario] = {
    "POST /api/v1/tokens": _make_token,
    "DELETE /api/v1/tokens/<uuid:token_id>": _revoke_token,
    "PUT /api/v1/quotas/<uuid:quota_id>": _set_limit,
    "POST /api/v1/approvals/<uuid:approval_id>/approve": _decide,
    "POST /api/v1/approvals/<uuid:approval_id>/refuse": _decide,
    "POST /api/v1/approvals/<uuid:approval_id>/withdraw": _withdraw,
    "POST /api/v1/workloads": _launch,
    f"PATCH {_WORKLOAD}": _rename,
    f"DELETE {_WORKLOAD}": _wish_for_running,
    f"POST {_WORKLOAD}/stop": _wish_for_running,
    f"POST {_WORKLOAD}/start": _wish_for_stopped,
    f"POST {_WORKLOAD}/extend": _wish_for_running,
    f"POST {_WORKLOAD}/open": _wish_for_running,
    f"POST {_WORKLOAD}/force-delete": _force_a_delete,
}
