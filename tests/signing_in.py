"""What an organisation's sign-in is made of, for tests that need one of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.utils import timezone

from tenants.models import EmailDomain, GroupMapping, IdentityProvider
from tenants.services import arrivals, email_domains, sign_in
from tenants.services.sign_in import MappingDraft, ProviderDraft
from tests import house
from tests.house import Tenant

T = TypeVar("T")


def ruled(tenant: Tenant, call: Callable[..., T], **words: object) -> T:
    """An act of the organisation's owner."""
    owner = "olivia" if "olivia" in tenant.people else "boris"
    with house.an_act(), tenant.scope():
        return call(actor=tenant.actor(owner), organization=tenant.organization, now=timezone.now(), **words)


def provider(tenant: Tenant) -> IdentityProvider:
    name = tenant.organization.slug
    draft = ProviderDraft(name, f"https://{name}.example", "c", "s", "groups", True)
    return ruled(tenant, sign_in.save_provider, draft=draft)


def mapping(tenant: Tenant) -> GroupMapping:
    draft = MappingDraft("leads", "admin", tenant.organization)
    return ruled(tenant, sign_in.map_group, mapping=draft)


def domain(tenant: Tenant) -> EmailDomain:
    return ruled(tenant, email_domains.add, domain=f"{tenant.organization.slug}.example")


def claims(tenant: Tenant, name: str) -> dict[str, object]:
    """What the provider says of a person, as a session keeps it."""
    return {
        "issuer": f"https://{tenant.organization.slug}.example",
        "subject": name,
        "email": tenant.people[name].email,
        "email_verified": True,
        "name": "",
        "groups": [],
    }


def linked(tenant: Tenant, name: str) -> None:
    """The person has consented to be signed in by the provider, which is there."""
    with tenant.scope():
        provider_id = IdentityProvider.objects.get().pk
    with house.an_act(), tenant.scope():
        arrivals.link(
            actor=tenant.actor(name),
            provider_id=provider_id,
            claims=arrivals.claims_of(claims(tenant, name)),
            now=timezone.now(),
        )


def set_up(tenant: Tenant, name: str) -> None:
    """One of each, and that person linked."""
    provider(tenant)
    mapping(tenant)
    domain(tenant)
    linked(tenant, name)
