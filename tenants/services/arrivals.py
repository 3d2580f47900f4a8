"""Signing in by an organisation's provider: out to it, back from it, and who that is here.

These call the network before a tenant is known, so they open short scopes of their own and call nothing inside them.
A provider speaks only for addresses that it has verified, in domains that its organisation has proven. An account that
exists already is nobody's to take: its owner links it, signed in by their own means.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from core import acts, audit, scope
from core.encryption import decrypted
from core.errors import Conflict, Refused, SteelyardError
from core.names import one_line
from core.types import Actor, ActorKind, Json, ObjectRef, Reason
from tenants.drivers import oidc
from tenants.enums import Origin, Role, Standing
from tenants.models import (
    EmailDomain,
    ExternalIdentity,
    GroupMapping,
    IdentityProvider,
    Membership,
    Organization,
    User,
)
from tenants.selectors.sign_in import provider_by_domain, provider_by_slug
from tenants.services import memberships

NotTrusted = oidc.NotTrusted
UNKNOWN = ObjectRef("person", "unknown")
TAKES_AT_MOST = timedelta(minutes=10)
_HIGHEST_FIRST = (Role.ADMIN, Role.BILLING, Role.AUDITOR, Role.PROJECT_ADMIN, Role.DEVELOPER, Role.VIEWER)
Place = tuple[UUID | None, UUID | None]
"""A team's id, a project's id; neither: the organisation."""


@dataclass(frozen=True, slots=True)
class Departure:
    """Where the browser goes, and what must be remembered of it in the session until it is back."""

    address: str
    provider_name: str
    organization_id: UUID
    provider_id: UUID
    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """Who has come. `user` None: an account with that address exists, and its owner has not linked it yet."""

    organization_id: UUID
    organization_name: str
    provider_id: UUID
    user: User | None
    claims: oidc.Claims


def claims_of(kept: object) -> oidc.Claims:
    """What was kept of an arrival in the session, as claims again."""
    assert isinstance(kept, dict)
    return oidc.Claims(**{**kept, "groups": tuple(kept["groups"])})


def as_refusal(error: SteelyardError) -> Refused:
    """What the provider got wrong, for the audit log."""
    return Refused([Reason(code=error.code, message=error.message)], ref=UNKNOWN)


def find(asked: str) -> tuple[UUID, UUID] | None:
    """(organisation id, provider id) for an organisation's name in addresses, or for an e-mail address.

    Of an address only the domain is looked at: nothing is said about the person.
    """
    word = asked.strip().lower()
    _, at, domain = word.rpartition("@")
    return provider_by_domain(domain) if at else provider_by_slug(word)


def depart(*, organization_id: UUID, provider_id: UUID, redirect_uri: str) -> Departure:
    """Find out where the provider listens, and make up what protects this sign-in. Raises NotReached, NotTrusted."""
    with scope.of_organization(organization_id):
        row = IdentityProvider.objects.get(pk=provider_id)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    client = _client(row, redirect_uri)
    address = oidc.departure(oidc.discover(row.issuer), client, state=state, nonce=nonce, verifier=verifier)
    return Departure(address, row.name, organization_id, provider_id, state, nonce, verifier)


def arrive(
    *,
    organization_id: UUID,
    provider_id: UUID,
    code: str,
    nonce: str,
    verifier: str,
    redirect_uri: str,
    now: datetime,
) -> Arrival:
    """Who has come back from the provider. People are made and roles follow their groups here.

    Raises NotReached and NotTrusted for the provider, Refused where it does not speak for that person.
    """
    with scope.of_organization(organization_id):
        row = IdentityProvider.objects.filter(pk=provider_id, enabled=True).first()
    if row is None:
        raise _refused("provider_gone", "This way of signing in is no longer in use.")
    claims = oidc.claims_for(
        oidc.discover(row.issuer),
        _client(row, redirect_uri),
        code=code,
        verifier=verifier,
        nonce=nonce,
        group_claim=row.group_claim,
    )
    with scope.of_organization(organization_id):
        organization = Organization.objects.get(pk=organization_id)
        _vouched_for(organization, claims)
        user = _known(row, claims, now) or _made(row, claims)
        if user is None:
            return Arrival(organization_id, organization.name, provider_id, None, claims)
        welcome = _settle(row, user, claims, now)
    if not welcome:
        raise _refused("no_role", f"{organization.name} gives no role to anybody in your groups.")
    return Arrival(organization_id, organization.name, provider_id, user, claims)


@transaction.atomic
def link(*, actor: Actor, provider_id: UUID, claims: oidc.Claims, now: datetime) -> None:
    """The person says yes: from now on the provider signs them in, in that organisation alone.

    The actor has signed in by their own means. Raises Refused where the address is not theirs, Conflict where somebody
    is linked already.
    """
    row = IdentityProvider.objects.get(pk=provider_id, enabled=True)
    user = User.objects.get(pk=actor.person_id)
    if user.email != claims.email:
        raise _refused("another_account", f"The provider speaks of {claims.email}. Sign in with that account first.")
    taken = ExternalIdentity.objects.filter(issuer=claims.issuer)
    if taken.filter(subject=claims.subject).exists() or taken.filter(user=user).exists():
        raise Conflict("This account is linked already.", code="already_linked")
    identity = _identify(row, user, claims, now)
    roles = _follow_groups(row, user, claims.groups, now)
    audit.record(actor, "identity.linked", identity.ref, now=now, after={"provider": row.name, "roles": roles})


@transaction.atomic
def unlink(*, actor: Actor, now: datetime) -> None:
    """The person takes the consent back. Roles that the provider gave go along."""
    identity = ExternalIdentity.objects.select_for_update().filter(user_id=actor.person_id).first()
    if identity is None:
        raise Conflict("This account is not linked here.", code="not_linked")
    ref = identity.ref
    identity.delete()
    memberships.erase(Membership.objects.filter(user_id=actor.person_id, origin=Origin.SSO))
    audit.record(actor, "identity.unlinked", ref, now=now)


def _vouched_for(organization: Organization, claims: oidc.Claims) -> None:
    """Raise unless the provider may speak for this address."""
    if organization.standing == Standing.CLOSED:
        raise _refused("organization_closed", "This organisation is closed.")
    if not claims.email or not claims.email_verified:
        raise _refused("email_not_verified", "The provider did not say that it has verified your e-mail address.")
    domain = claims.email.rpartition("@")[2]
    if not EmailDomain.objects.filter(domain=domain, proven_at__isnull=False).exists():
        raise _refused("domain_not_proven", f"{organization.name} has not proven that {domain} is its own.")


def _known(row: IdentityProvider, claims: oidc.Claims, now: datetime) -> User | None:
    """Whom the provider's subject stands for. Raises Refused where that account is closed."""
    identity = (
        ExternalIdentity.objects.select_related("user")
        .filter(issuer=claims.issuer, subject=claims.subject, provider=row)
        .first()
    )
    if identity is None:
        return None
    if not identity.user.is_active:
        raise _refused("account_closed", "This account is closed. An administrator of the platform can open it again.")
    ExternalIdentity.objects.filter(pk=identity.pk).update(last_used_at=now)
    return identity.user


def _made(row: IdentityProvider, claims: oidc.Claims) -> User | None:
    """A new person without a password, if nobody has the address and a group gives them a role; None: it is taken."""
    if User.objects.filter(email=claims.email).exists():
        return None
    if not _wanted(row, claims.groups):
        raise _refused("no_role", "Your organisation gives no role to anybody in your groups.")
    name = one_line(claims.name)[:120] or claims.email.partition("@")[0]
    return User.objects.create_user(claims.email, None, full_name=name)


def _settle(row: IdentityProvider, user: User, claims: oidc.Claims, now: datetime) -> bool:
    """Write who that is and what they may do, in one event; whether they belong to the organisation."""
    before = _roles_of(user)
    new = not ExternalIdentity.objects.filter(user=user, issuer=claims.issuer).exists()
    if new:
        _identify(row, user, claims, now)
    after = _follow_groups(row, user, claims.groups, now)
    welcome = Membership.objects.filter(user=user).exists()
    actor = Actor(kind=ActorKind.USER, id=user.pk, organization_id=row.organization_id, label=user.email)
    facts: dict[str, Json] = {"by": ["sso"], "provider": row.name, "roles": after, "new": new}
    verb = "person.signed_in" if welcome else "membership.followed_groups"
    ref = ObjectRef("person", str(user.pk))
    with acts.begin(acts.current().source):
        audit.record(actor, verb, ref, now=now, before={"roles": before}, after=facts)
    return welcome


def _identify(row: IdentityProvider, user: User, claims: oidc.Claims, now: datetime) -> ExternalIdentity:
    return ExternalIdentity.objects.create(
        organization_id=row.organization_id,
        provider=row,
        user=user,
        issuer=claims.issuer,
        subject=claims.subject,
        linked_at=now,
        last_used_at=now,
    )


def _follow_groups(row: IdentityProvider, user: User, groups: Iterable[str], now: datetime) -> list[Json]:
    """Give what the groups give and take what they no longer do. What people have granted stays as it is."""
    wanted = _wanted(row, groups)
    held = {(one.team_id, one.project_id): one for one in Membership.objects.filter(user=user)}
    memberships.erase(one for place, one in held.items() if one.origin == Origin.SSO and place not in wanted)
    for place, mapping in wanted.items():
        there = held.get(place)
        if there is not None and (there.origin != Origin.SSO or there.role == mapping.role):
            continue
        memberships.write(
            organization=row.organization,
            user=user,
            role=mapping.role,
            project=mapping.project,
            team=mapping.team,
            now=now,
            origin=Origin.SSO,
        )
    return _roles_of(user)


def _wanted(row: IdentityProvider, groups: Iterable[str]) -> dict[Place, GroupMapping]:
    """The highest role for each place that the groups, or being here at all, give."""
    asked = {"", *groups}
    rows = [one for one in row.mappings.select_related("team", "project") if one.group in asked]
    found: dict[Place, GroupMapping] = {}
    for one in sorted(rows, key=lambda one: _HIGHEST_FIRST.index(Role(one.role))):
        found.setdefault((one.team_id, one.project_id), one)
    return found


def _roles_of(user: User) -> list[Json]:
    rows = Membership.objects.filter(user=user, origin=Origin.SSO)
    return [f"{one.role} on {one.project_id or one.team_id or one.organization_id}" for one in rows.order_by("pk")]


def _client(row: IdentityProvider, redirect_uri: str) -> oidc.Client:
    return oidc.Client(row.client_id, decrypted(row.client_secret) if row.client_secret else "", redirect_uri)


def _refused(code: str, message: str) -> Refused:
    ask = "an administrator of your organisation"
    return Refused([Reason(code=code, message=message, ask=ask)], ref=UNKNOWN)
