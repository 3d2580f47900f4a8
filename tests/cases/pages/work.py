"""Workspaces, tokens, and where one is."""

from __future__ import annotations

from collections.abc import Callable

from provisioning.models import Workload
from tenants.models import AccessToken
from tests import house
from tests.cases.pages.acts import Act, Stage


def _launch(_: Stage) -> Act:
    form = {"project": "vision", "image": "jupyterlab", "name": "mine", "disk_gib": 1, "kind": "workspace"}
    return Act("alice", form={**form, "shape": "cpu-4"}, changes=True)


def _wish(on: Callable[[Stage], Workload], *, changes: bool = True) -> Callable[[Stage], Act]:
    return lambda found: Act("alice", {"workload_id": on(found).pk}, changes=changes)


def _revoke(found: Stage) -> Act:
    house.token_for(found.tenant, "alice")
    with found.tenant.scope():
        return Act("alice", {"token_id": AccessToken.objects.latest("pk").pk})


SCENARIOS: dict[str, Callable[[Stage], Act]] = {
    "/launch": _launch,
    "/tokens": lambda _: Act("alice", form={"name": "script", "expires": "30"}),
    "/tokens/<uuid:token_id>/revoke": _revoke,
    "/tokens/<uuid:token_id>/rotate": _revoke,
    "/switch/organization/<slug:slug>": lambda _: Act("alice", {"slug": "aurora"}),
    "/switch/project/<slug:slug>": lambda _: Act("alice", {"slug": "language"}),
    "/workspaces/<uuid:workload_id>/open": _wish(Stage.running, changes=False),
    "/workspaces/<uuid:workload_id>/stop": _wish(Stage.running),
    "/workspaces/<uuid:workload_id>/start": _wish(Stage.stopped),
    "/workspaces/<uuid:workload_id>/keep": _wish(Stage.running),
    "/workspaces/<uuid:workload_id>/delete": _wish(Stage.running),
    "/workspaces/<uuid:workload_id>/force-delete": lambda found: Act(
        "olivia", {"workload_id": found.hanging().pk}, changes=True
    ),
}
