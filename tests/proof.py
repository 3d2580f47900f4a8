"""What people set up around the audit log, for tests."""

from __future__ import annotations

from django.utils import timezone

from core.models import AuditCut, AuditStream, AuditView
from tenants.services import audit_log
from tests.house import Tenant, an_act

ADDRESS = "https://siem.example/in"


def saved_view(tenant: Tenant, *, shared: bool = False, name: str = "Denials") -> AuditView:
    with an_act(), tenant.scope():
        return audit_log.save_view(
            actor=tenant.actor("olivia"), name=name, query={"outcome": "denied"}, shared=shared, now=timezone.now()
        )


def stream(tenant: Tenant, *, url: str = ADDRESS, name: str = "siem", from_start: bool = False) -> AuditStream:
    return stream_and_secret(tenant, url=url, name=name, from_start=from_start)[0]


def stream_and_secret(
    tenant: Tenant, *, url: str = ADDRESS, name: str = "siem", from_start: bool = False
) -> tuple[AuditStream, str]:
    with an_act(), tenant.scope():
        return audit_log.create_stream(
            actor=tenant.actor("olivia"), name=name, url=url, from_start=from_start, now=timezone.now()
        )


def around_the_log(tenant: Tenant) -> None:
    """A saved view, a stream, a rule of keeping; and a cut of nothing, since the chain is so young."""
    owner = tenant.actor("olivia" if "olivia" in tenant.people else "boris")
    now = timezone.now()
    with an_act(), tenant.scope():
        audit_log.save_view(actor=owner, name="Launches", query={"verb": "workload.*"}, shared=True, now=now)
    with an_act(), tenant.scope():
        audit_log.create_stream(actor=owner, name="siem", url=ADDRESS, from_start=False, now=now)
    with an_act(), tenant.scope():
        audit_log.keep_for(actor=owner, days=3650, now=now)
    with tenant.scope():
        AuditCut.objects.create(
            organization_id=tenant.organization.pk, seq=0, hash=bytes(32), removed=0, cut_at=now, key="", signature=""
        )
