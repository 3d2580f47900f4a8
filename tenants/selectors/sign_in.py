"""Questions about signing in: second factors, providers and domains."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from allauth.mfa.models import Authenticator
from django.db import connection
from django.db.models import QuerySet

from core.errors import NotFound
from core.types import Actor
from tenants.enums import Permission
from tenants.models import EmailDomain, ExternalIdentity, GroupMapping, IdentityProvider
from tenants.permissions import authorize
from tenants.selectors import organization_of
from tenants.types import SessionStanding


def session_standing(organization_id: UUID, user_id: UUID, provider_id: UUID | None) -> SessionStanding:
    """How a person's session stands in the scope's organisation.

    `provider_id`: the provider that opened it, which asks for factors of its own. Asked by every page, so plain SQL.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STANDING, [user_id, provider_id, organization_id])
        row = cursor.fetchone()
    if row is None:
        return SessionStanding(awaits_second_factor=False, provider_gone=provider_id is not None)
    required, has_factor, provider_in_use = row
    bound = provider_id is not None
    return SessionStanding(
        awaits_second_factor=required and not has_factor and not bound, provider_gone=bound and not provider_in_use
    )


def lacks_second_factor(user_id: UUID) -> bool:
    """Whether the scope's organisation asks for a second factor that a person has neither here nor at its provider.

    For what outlives a request: an open workspace, a stream.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LACKS, [user_id])
        row = cursor.fetchone()
    return bool(row and row[0])


def has_second_factor(user_id: UUID) -> bool:
    """Whether the person has set up one of their own."""
    kinds = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
    return bool(Authenticator.objects.filter(user_id=user_id, type__in=kinds).exists())


def provider_by_slug(slug: str) -> tuple[UUID, UUID] | None:
    """(organisation id, provider id) of the organisation with that slug. Asked before a tenant is known."""
    return _found("SELECT organization_id, provider_id FROM steelyard_provider_by_slug(%s)", slug)


def provider_by_domain(domain: str) -> tuple[UUID, UUID] | None:
    """The same, of the organisation that has proven the domain."""
    return _found("SELECT organization_id, provider_id FROM steelyard_provider_by_domain(%s)", domain)


def domains_to_check(before: datetime) -> list[tuple[UUID, UUID]]:
    """(organisation id, domain id) of proven domains that nobody has looked at since. For the sweep; ids only."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT organization_id, domain_id FROM steelyard_domains_to_check(%s)", [before])
        return [(row[0], row[1]) for row in cursor.fetchall()]


def provider_of(actor: Actor) -> IdentityProvider | None:
    """The provider of the actor's organisation, for one who manages sign-in there."""
    authorize(actor, Permission.MANAGE_SIGN_IN, organization_of(actor))
    return IdentityProvider.objects.first()


def mappings_of(actor: Actor) -> QuerySet[GroupMapping]:
    authorize(actor, Permission.MANAGE_SIGN_IN, organization_of(actor))
    return GroupMapping.objects.select_related("team", "project").order_by("group", "role", "pk")


def domains_of(actor: Actor) -> QuerySet[EmailDomain]:
    authorize(actor, Permission.MANAGE_SIGN_IN, organization_of(actor))
    return EmailDomain.objects.order_by("domain")


def domain_of(actor: Actor, domain_id: UUID) -> EmailDomain:
    """One of the actor's organisation, for one who manages sign-in there. Raises NotFound for a stranger's."""
    found = EmailDomain.objects.filter(pk=domain_id).first()
    if found is None:
        raise NotFound("email_domain", domain_id)
    authorize(actor, Permission.MANAGE_SIGN_IN, organization_of(actor))
    return found


def identity_of(actor: Actor) -> ExternalIdentity | None:
    """The actor's own link to the provider of the organisation in which it acts."""
    return ExternalIdentity.objects.select_related("provider").filter(user_id=actor.person_id).first()


def _found(question: str, asked: str) -> tuple[UUID, UUID] | None:
    with connection.cursor() as cursor:
        cursor.execute(question, [asked])
        row = cursor.fetchone()
    return (row[0], row[1]) if row else None


_LACKS = """
    SELECT o.mfa_required AND u.kind = 'person'
        AND NOT EXISTS (SELECT 1 FROM mfa_authenticator a WHERE a.user_id = u.id AND a.type IN ('totp', 'webauthn'))
        AND NOT EXISTS (
            SELECT 1 FROM tenants_externalidentity e JOIN tenants_identityprovider p ON p.id = e.provider_id
            WHERE e.user_id = u.id AND p.enabled AND e.issuer = p.issuer
        )
    FROM tenants_user u, tenants_organization o
    WHERE u.id = %s AND o.id = steelyard_organization()
"""
_STANDING = """
    SELECT o.mfa_required,
        EXISTS (SELECT 1 FROM mfa_authenticator a WHERE a.user_id = %s AND a.type IN ('totp', 'webauthn')),
        EXISTS (SELECT 1 FROM tenants_identityprovider p WHERE p.id = %s AND p.enabled)
    FROM tenants_organization o WHERE o.id = %s
"""
