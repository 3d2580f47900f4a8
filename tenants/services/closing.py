"""Closing an organisation: nothing lives in it any more, what it used is billed, what it did stays readable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from django.db import transaction

from core import audit
from core.errors import FieldError, Invalid
from core.types import Actor, Json
from tenants.enums import Permission, Standing
from tenants.models import Invitation, Membership, Organization, Project, ServiceAccount
from tenants.permissions import authorize
from tenants.services import projects, service_accounts
from tenants.services.endings import end_sessions, end_tokens
from tenants.services.standing import refuse_closed


@transaction.atomic
def close(
    *,
    actor: Actor,
    organization: Organization,
    confirmed: str,
    final_bill: Callable[[], Mapping[str, str]],
    now: datetime,
    expected_version: int | None = None,
) -> Organization:
    """Close for good. Refused, naming each, while something lives in its projects.

    `confirmed` is its slug, typed; `final_bill` tells what each open month comes to, and is asked once nothing lives
    any more and nothing can begin. Tokens, invitations and service accounts end, and every member's sessions but the
    actor's own. Its slug and its projects' names stay its own. Members sign in again and read invoices, usage and the
    audit log.
    """
    authorize(actor, Permission.CLOSE_ORGANIZATION, organization)
    row = Organization.objects.select_for_update().get(pk=organization.pk)
    refuse_closed(row)
    if confirmed.strip() != row.slug:
        raise Invalid([FieldError("confirmed", "not_the_slug", f"Type {row.slug} to confirm.")])
    if expected_version is not None and row.version != expected_version:
        raise projects.stale("organisation")
    everything = Project.objects.all()
    projects.refuse_holders(everything, row.name)
    projects.shut(list(everything.filter(closed_at=None)), now)
    before: dict[str, Json] = {"standing": row.standing}
    row.standing, row.standing_reason, row.closed_at = Standing.CLOSED, "Closed by its owner.", now
    row.version += 1
    row.save(update_fields=["standing", "standing_reason", "closed_at", "version"])
    ended = _end_ways_in(actor, now)
    bill: dict[str, Json] = dict(sorted(final_bill().items()))
    after: dict[str, Json] = {"standing": Standing.CLOSED.value, "final_bill": bill, **ended}
    audit.record(actor, "organization.closed", row.ref, now=now, before=before, after=after)
    return row


def _end_ways_in(actor: Actor, now: datetime) -> dict[str, Json]:
    invitations = Invitation.objects.filter(accepted_at=None, revoked_at=None).update(
        revoked_at=now, mail_secret="", mail_due_at=None
    )
    accounts = list(ServiceAccount.objects.filter(disabled_at=None))
    tokens = service_accounts.shut(accounts, now)
    members = list(Membership.objects.values_list("user_id", flat=True).distinct())
    tokens += end_tokens(members, now)
    sessions = end_sessions(members, now, keep=actor.session_key)
    return {
        "invitations_revoked": invitations,
        "service_accounts_disabled": len(accounts),
        "tokens_ended_count": tokens,
        "sessions_ended_count": sessions,
    }
