"""Whether an organisation may use the platform: suspended and restored by the platform's people."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from core import audit
from core.errors import Conflict, FieldError, Invalid, Refused
from core.types import Actor, Reason
from tenants.enums import PlatformPermission, Standing
from tenants.models import Organization
from tenants.permissions import authorize_platform


@transaction.atomic
def suspend(*, actor: Actor, organization: Organization, reason: str, now: datetime) -> Organization:
    """Nothing new starts in the organisation; what runs is left alone. Runs in the organisation's scope."""
    authorize_platform(actor, PlatformPermission.MANAGE_TENANTS)
    words = reason.strip()
    if not words or len(words) > 200:
        raise Invalid([FieldError("reason", "missing", "Say why, in at most 200 letters: its members read it.")])
    return _set(actor, organization, Standing.SUSPENDED, words, now, verb="organization.suspended")


@transaction.atomic
def restore(*, actor: Actor, organization: Organization, now: datetime) -> Organization:
    """Back in good standing: launches are admitted again. Runs in the organisation's scope."""
    authorize_platform(actor, PlatformPermission.MANAGE_TENANTS)
    return _set(actor, organization, Standing.GOOD, "", now, verb="organization.restored")


def refuse_closed(organization: Organization) -> None:
    """Raise where the organisation is closed: it is read, and changed no more."""
    if organization.standing == Standing.CLOSED:
        message = f"{organization.name} is closed. What it had can be read; nothing in it changes any more."
        raise Refused(
            [Reason(code="organization_closed", message=message)], ref=organization.ref, code="organization_closed"
        )


def _set(
    actor: Actor, organization: Organization, standing: Standing, reason: str, now: datetime, *, verb: str
) -> Organization:
    row = Organization.objects.select_for_update().get(pk=organization.pk)
    refuse_closed(row)
    if (row.standing, row.standing_reason) == (standing, reason):
        raise Conflict(f"{row.name} is in this standing already.", code="no_change")
    before = {"standing": row.standing, "reason": row.standing_reason}
    row.standing, row.standing_reason, row.version = standing, reason, row.version + 1
    row.save(update_fields=["standing", "standing_reason", "version"])
    audit.record(actor, verb, row.ref, now=now, before=dict(before), after={"standing": standing, "reason": reason})
    return row
