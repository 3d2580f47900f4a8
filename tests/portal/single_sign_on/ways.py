"""What people and owners do with an organisation's provider."""

from __future__ import annotations

import html
import re

from django.test import Client
from django.utils import timezone

from tenants.models import EmailDomain, Membership
from tenants.services import email_domains
from tenants.services.sign_in import ProviderDraft
from tests import house
from tests.oidc import OidcProvider


def act(tenant, name, call, **words):
    with house.an_act(), tenant.scope():
        return call(actor=tenant.actor(name), organization=tenant.organization, now=timezone.now(), **words)


def draft(idp: OidcProvider, **changes) -> ProviderDraft:
    words = {
        "name": "Aurora account",
        "issuer": idp.issuer,
        "client_id": "steelyard",
        "client_secret": "hush",
        "group_claim": "groups",
        "enabled": True,
    }
    return ProviderDraft(**{**words, **changes})


def prove(tenant, name: str, domain: str, records: dict[str, str]) -> EmailDomain:
    row = act(tenant, name, email_domains.add, domain=domain)
    records[email_domains.record_name(domain)] = email_domains.record_value(row)
    with house.an_act():
        return email_domains.check(actor=tenant.actor(name), domain_id=row.pk, now=timezone.now())


def address_in(page: str) -> str:
    """Where the page sends the browser."""
    found = re.search(r'content="0;url=([^"]+)"', page)
    assert found is not None, page
    return html.unescape(found[1])


def come(idp: OidcProvider, subject: str, *, client: Client | None = None, organization: str = "aurora"):
    """Through the door, over the provider, and back."""
    browser = client or Client()
    page = browser.get("/sign-in/organization", {"organization": organization}).content.decode()
    address = address_in(page)
    return browser, browser.get(f"/sign-in/callback?{idp.vouch(address, subject)}")


def person(idp: OidcProvider, subject: str, email: str, *groups: str, verified: object = True, name: str = "") -> None:
    idp.person(subject, email=email, email_verified=verified, groups=list(groups), name=name)


def roles(tenant, email: str) -> list[tuple[str, str, str]]:
    with tenant.scope():
        rows = Membership.objects.filter(user__email=email).select_related("project")
        return sorted((row.role, row.project.slug if row.project else "", row.origin) for row in rows)
