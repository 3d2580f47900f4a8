"""How people of the organisation sign in."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from django.utils import timezone

from tenants.services import arrivals, email_domains, sign_in
from tenants.services.sign_in import MappingDraft, ProviderDraft
from tests import house
from tests.cases.pages.acts import Act, Stage

T = TypeVar("T")


def _provider(found: Stage):
    """Aurora's identity provider, as its owner has saved it."""
    return ruled(found, sign_in.save_provider, draft=ProviderDraft("Aurora", "https://a.example", "c", "s", "g", True))


def ruled(found: Stage, call: Callable[..., T], **words: object) -> T:
    tenant = found.tenant
    with house.an_act(), tenant.scope():
        return call(actor=tenant.actor("olivia"), organization=tenant.organization, now=timezone.now(), **words)


def _save_provider(_: Stage) -> Act:
    form: dict[str, object] = {
        "name": "Aurora",
        "issuer": "https://a.example",
        "client_id": "c",
        "group_claim": "groups",
        "version": "0",
    }
    return Act("olivia", form=form, changes=True)


def _require(found: Stage) -> Act:
    """By an owner who has one: nobody locks themselves out."""
    house.give_factor(found.tenant, "olivia")
    return Act("olivia", form={"required": "yes"}, changes=True)


def _remove_provider(found: Stage) -> Act:
    _provider(found)
    return Act("olivia")


def _map_group(found: Stage) -> Act:
    _provider(found)
    return Act("olivia", form={"group": "leads", "role": "admin", "place": "here"}, changes=True)


def _unmap_group(found: Stage) -> Act:
    _provider(found)
    made = ruled(found, sign_in.map_group, mapping=MappingDraft("leads", "admin", found.tenant.organization))
    return Act("olivia", {"mapping_id": made.pk})


def _domain(found: Stage) -> Act:
    return Act("olivia", {"domain_id": ruled(found, email_domains.add, domain="aurora.example").pk})


def _check_domain(found: Stage) -> Act:
    row = ruled(found, email_domains.add, domain="aurora.example")
    found.records[email_domains.record_name(row.domain)] = email_domains.record_value(row)
    return Act("olivia", {"domain_id": row.pk}, changes=True)


def _link(found: Stage) -> Act:
    """Alice has come by the provider, and has signed in by her own means since."""
    provider, alice, now = _provider(found), found.tenant.people["alice"], time.time()
    claims = {"issuer": provider.issuer, "subject": "1", "email": alice.email, "email_verified": True, "name": ""}
    return Act(
        "alice",
        session={
            "sso_to_link": {
                "organization_id": str(found.tenant.organization.pk),
                "organization_name": "Aurora",
                "provider_id": str(provider.pk),
                "claims": {**claims, "groups": []},
                "at": now,
            },
            "account_authentication_methods": [{"method": "password", "at": now}],
            "account_authentication_methods_user": str(alice.pk),
        },
        changes=True,
    )


def _unlink(found: Stage) -> Act:
    tenant, provider = found.tenant, _provider(found)
    with house.an_act(), tenant.scope():
        arrivals.link(
            actor=tenant.actor("alice"),
            provider_id=provider.pk,
            claims=arrivals.claims_of(
                {
                    "issuer": provider.issuer,
                    "subject": "1",
                    "email": tenant.people["alice"].email,
                    "email_verified": True,
                    "name": "",
                    "groups": [],
                }
            ),
            now=timezone.now(),
        )
    return Act("alice")


_SIGN_IN = "/organization/sign-in"


SCENARIOS: dict[str, Callable[[Stage], Act]] = {
    f"{_SIGN_IN}/second-factor": _require,
    f"{_SIGN_IN}/provider": _save_provider,
    f"{_SIGN_IN}/provider/remove": _remove_provider,
    f"{_SIGN_IN}/groups": _map_group,
    f"{_SIGN_IN}/groups/<uuid:mapping_id>/remove": _unmap_group,
    f"{_SIGN_IN}/domains": lambda _: Act("olivia", form={"domain": "aurora.example"}, changes=True),
    f"{_SIGN_IN}/domains/<uuid:domain_id>/check": _check_domain,
    f"{_SIGN_IN}/domains/<uuid:domain_id>/remove": _domain,
    "/account/erase": lambda _: Act(
        "alice", form={"confirmed": "alice@aurora.example", "password": house.PASSWORD}, changes=True
    ),
    "/sign-in/link": _link,
    "/sign-in/unlink": _unlink,
}
