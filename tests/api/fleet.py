"""Acts on clusters: those of the platform's own people."""

from __future__ import annotations

from provisioning.api.cluster_shapes import ClusterChangeInput, CredentialsInput, NewClusterInput
from provisioning.models import Region
from tenants.enums import PlatformRole
from tests import house
from tests.api.acts import Act, Scenario
from tests.fleet import registered
from tests.house import Tenant


def otto(tenant: Tenant) -> str:
    """Who operates the fleet."""
    if "otto" not in tenant.people:
        house.platform_person(tenant, "otto", PlatformRole.OPERATOR)
    return "otto"


def _register(tenant: Tenant) -> Act:
    Region.objects.create(slug="here", label="Here")
    return Act(otto(tenant), NewClusterInput.example, platform=True)


def _on_cluster(body: object = None) -> Scenario:
    def act(tenant: Tenant) -> Act:
        return Act(otto(tenant), body, {"cluster_id": registered().pk}, platform=True)

    return act


_CLUSTER = "/api/v1/clusters/<uuid:cluster_id>"
SCENARIOS: dict[str, Scenario] = {
    "POST /api/v1/clusters": _register,
    f"PATCH {_CLUSTER}": _on_cluster(ClusterChangeInput.example),
    f"DELETE {_CLUSTER}": _on_cluster(),
    f"POST {_CLUSTER}/cordon": _on_cluster(),
    f"POST {_CLUSTER}/uncordon": _on_cluster(),
    f"POST {_CLUSTER}/drain": _on_cluster(),
    f"POST {_CLUSTER}/check": _on_cluster(),
    f"PUT {_CLUSTER}/credentials": _on_cluster(CredentialsInput.example),
}
