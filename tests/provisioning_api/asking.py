"""How these tests ask for workloads."""

from __future__ import annotations

from core.models import AuditEvent
from tests.api.ask import send

WORKLOADS = "/api/v1/workloads"


def body(shape: str = "h100-1", *, project: str = "aurora/vision", **more) -> dict[str, object]:
    return {"project": project, "kind": "workspace", "shape": shape, "image": "jupyterlab", "disk_gib": 10, **more}


def launch(client, shape: str = "h100-1", *, key: str = "", **more):
    headers = {"Idempotency_Key": key} if key else {}
    return send(client, "post", WORKLOADS, body(shape, **more), **headers)


def would(client, shape: str = "h100-1", **more):
    return send(client, "post", f"{WORKLOADS}?dry_run=true", body(shape, **more))


def address(workload, part: str = "") -> str:
    return f"{WORKLOADS}/{workload.pk}" + (f"/{part}" if part else "")


def events(tenant, **which: object) -> list[AuditEvent]:
    with tenant.scope():
        return list(AuditEvent.objects.filter(**which))
