"""Rows of what governs: approvals, policies, acting for somebody, and how an organisation's people sign in."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from tenants import permissions
from tenants.enums import Permission
from tenants.models import ExternalIdentity, IdentityProvider, Quota, Team
from tenants.services import approvals, email_domains, impersonations, policies, quota_requests, quotas, sign_in
from tests import governed, house
from tests.house import Tenant
from tests.places import owner_of

ISSUER = "https://id.example"


def govern(tenant: Tenant, person: str) -> dict[str, object]:
    """What addresses call these rows."""
    waiting = _approvals(tenant, person)
    draft = policies.Draft("large", "Large launches", "approval_above", {"accelerators": 64}, "observe")
    with house.an_act(), tenant.scope():
        policy = policies.create(
            actor=tenant.actor(owner_of(tenant)), organization=tenant.organization, draft=draft, now=timezone.now()
        )
    with house.an_act(), tenant.scope():
        quotas.define_one(
            actor=tenant.actor(owner_of(tenant)),
            place=Team.objects.earliest("pk"),
            resource="accelerators",
            terms=quotas.Terms(16),
            now=timezone.now(),
        )
    _act_for(tenant, person)
    return {"policy_id": policy.pk, "approval_id": waiting, **_quotas(tenant, person), **_sign_in(tenant, person)}


def _quotas(tenant: Tenant, person: str) -> dict[str, object]:
    """A quota that nobody asks about, and a wish for more of another one of the same project."""
    with tenant.scope():
        rows = {row.resource: row.pk for row in Quota.objects.filter(project__in=_worked_in(tenant, person))}
    with house.an_act(), tenant.scope():
        wish = quota_requests.ask(
            actor=tenant.actor(person),
            quota_id=rows["memory_gib"],
            limit=99_999,
            justification="The benchmark of the new encoder.",
            until=None,
            now=timezone.now(),
        )
    return {"quota_id": rows["vcpus"], "request_id": wish.pk}


def _worked_in(tenant: Tenant, person: str) -> list[UUID]:
    return [
        project.pk
        for project in tenant.projects.values()
        if permissions.holds(tenant.actor(person), Permission.REQUEST_QUOTA, project)
    ][:1]


def _approvals(tenant: Tenant, person: str) -> UUID:
    """One decided, on a team; one that waits, in a project."""
    with tenant.scope():
        team = Team.objects.earliest("pk")
    on_team = governed.asked(tenant, person, place=team)
    with house.an_act(), tenant.scope():
        approvals.approve(actor=tenant.actor(owner_of(tenant)), approval_id=on_team.pk, now=timezone.now())
    return governed.asked(tenant, person).pk


def _act_for(tenant: Tenant, person: str) -> None:
    house.platform_person(tenant, "pia", "platform_operator")
    with house.an_act(), tenant.scope():
        impersonations.begin(
            actor=tenant.actor("pia"),
            person_id=tenant.people[person].pk,
            reason="She asked us to look at her form.",
            lasts=timedelta(minutes=1),
            now=timezone.now() - timedelta(hours=1),
        )


def _sign_in(tenant: Tenant, person: str) -> dict[str, object]:
    owner, now = tenant.actor(owner_of(tenant)), timezone.now()
    with tenant.scope():
        team = Team.objects.earliest("pk")
    project = next(iter(tenant.projects.values()))
    mappings = [sign_in.MappingDraft("seers", "viewer", team), sign_in.MappingDraft("doers", "developer", project)]
    draft = sign_in.ProviderDraft("House", ISSUER, "steelyard", "secret", "groups", enabled=True)
    with house.an_act(), tenant.scope():
        sign_in.save_provider(actor=owner, organization=tenant.organization, draft=draft, mappings=mappings, now=now)
    with house.an_act(), tenant.scope():
        domain = email_domains.add(
            actor=owner, organization=tenant.organization, domain=f"{tenant.organization.slug}.example", now=now
        )
    with house.an_act(), tenant.scope():
        provider = IdentityProvider.objects.get()
        mapping = provider.mappings.earliest("pk")
        sign_in.require_second_factor(actor=owner, organization=tenant.organization, required=False, now=now)
        ExternalIdentity.objects.create(
            organization=tenant.organization,
            provider=provider,
            user=tenant.people[person],
            issuer=ISSUER,
            subject=person,
            linked_at=now,
        )
    return {"domain_id": domain.pk, "mapping_id": mapping.pk}
