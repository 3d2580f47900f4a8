"""Questions about tenancy, always asked by an actor or inside a scope."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from core.errors import NotFound
from core.types import Actor
from tenants.credentials import hash_secret, is_well_formed
from tenants.enums import Permission
from tenants.models import AccessToken, Membership, Organization, Project, ServiceAccount, User
from tenants.permissions import projects_filter
from tenants.selectors.quotas import held_of as held_of
from tenants.selectors.quotas import quota_book as quota_book
from tenants.selectors.quotas import quota_lines as quota_lines
from tenants.selectors.quotas import quotas_visible_to as quotas_visible_to
from tenants.types import Credential

_CREDENTIAL = """
    SELECT t.id, t.organization_id, t.user_id, t.scopes, t.last_used_at, u.email, u.platform_role,
        o.mfa_required AND u.kind = 'person'
        AND NOT EXISTS (SELECT 1 FROM mfa_authenticator a WHERE a.user_id = u.id AND a.type IN ('totp', 'webauthn'))
        AND NOT EXISTS (
            SELECT 1 FROM tenants_externalidentity e JOIN tenants_identityprovider p ON p.id = e.provider_id
            WHERE e.user_id = u.id AND p.enabled AND e.issuer = p.issuer
        ),
        u.kind = 'service'
    FROM tenants_accesstoken t
    JOIN tenants_user u ON u.id = t.user_id
    JOIN tenants_organization o ON o.id = t.organization_id
    WHERE t.id = %s AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > %s) AND u.is_active
"""
"""The second factor may be one's own, or that of the organisation's provider, by which one signs in."""


def organization_of(actor: Actor) -> Organization:
    """The organisation that the actor acts in. Raises NotFound where it is a member of none."""
    found = Organization.objects.filter(pk=actor.tenant_id).first()
    if found is None:
        raise NotFound("organization", actor.organization_id)
    return found


def organization_by_id(organization_id: UUID) -> Organization:
    """An organisation of the scope, for the platform's own parts."""
    return Organization.objects.get(pk=organization_id)


def organization_by_slug(slug: str) -> Organization | None:
    """For the platform's scope."""
    return Organization.objects.filter(slug=slug).first()


def organizations_of_user(user_id: UUID) -> list[Organization]:
    """Every organisation that a person belongs to, by slug. Needs a scope that names the person."""
    return list(Organization.objects.filter(pk__in=organization_ids_of_user(user_id)).order_by("slug"))


def organizations_visible_to(actor: Actor) -> QuerySet[Organization]:
    """Those that the actor belongs to; a token's and a bound session's only their own. Others need a scope that names
    the person."""
    if actor.token_id is not None or actor.bound:
        return Organization.objects.filter(pk=actor.tenant_id)
    return Organization.objects.filter(pk__in=organization_ids_of_user(actor.person_id))


def organization_ids_of_user(user_id: UUID) -> list[UUID]:
    """Asked before a tenant is known: ids only, oldest membership first."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT steelyard_organizations_of(%s)", [user_id])
        return [row[0] for row in cursor.fetchall()]


def projects_with(actor: Actor, permission: Permission) -> QuerySet[Project]:
    """The projects of the actor's organisation where it holds the permission."""
    return Project.objects.filter(projects_filter(actor, permission)).select_related("organization").order_by("slug")


def project_for(actor: Actor, asked: str | UUID) -> Project:
    """A project by id or `organization/project` slugs, if the actor may see it. Raises NotFound otherwise."""
    visible = projects_with(actor, Permission.VIEW_PROJECT)
    found = visible.filter(**_project_key(asked)).first() if _project_key(asked) else None
    if found is None:
        raise NotFound("project", asked)
    return found


def projects_by_slug() -> dict[str, Project]:
    """Every project of the scope's organisation, for the platform's own parts."""
    return {project.slug: project for project in Project.objects.select_related("organization")}


def project_by_id(project_id: UUID) -> Project:
    """A project of the scope's organisation, for the platform's own parts."""
    return Project.objects.select_related("organization").get(pk=project_id)


def person_by_email(email: str) -> User | None:
    return User.objects.filter(email=email.strip().lower()).first()


def project_ids_held_by(user_id: UUID) -> set[UUID | None]:
    """Where in the scope's organisation a person holds a role; None stands for the organisation itself."""
    return set(Membership.objects.filter(user_id=user_id).values_list("project_id", flat=True))


def people_by_id(ids: Iterable[UUID]) -> dict[UUID, User]:
    """People whom rows already visible to the caller refer to."""
    return User.objects.in_bulk([*ids])


def people_matching(words: str) -> QuerySet[User]:
    """People of the scope's organisation whose name or address contains the words."""
    members = Membership.objects.values("user_id")
    return User.objects.filter(Q(full_name__icontains=words) | Q(email__icontains=words), pk__in=members)


def people_sharing(project_id: UUID) -> int:
    """How many people hold a role in a project of the scope's organisation."""
    return Membership.objects.filter(project_id=project_id).values("user_id").distinct().count()


def memberships_of(actor: Actor) -> list[Membership]:
    """The actor's own roles in its organisation."""
    return list(Membership.objects.filter(user_id=actor.person_id).select_related("project").order_by("created_at"))


def tokens_of(actor: Actor, *, now: datetime) -> QuerySet[AccessToken]:
    """The actor's own living tokens."""
    return _living_tokens(actor.person_id, now)


def tokens_of_account(account: ServiceAccount, *, now: datetime) -> QuerySet[AccessToken]:
    """A service account's living tokens, for one who may see the account."""
    return _living_tokens(account.user_id, now)


def _living_tokens(user_id: UUID, now: datetime) -> QuerySet[AccessToken]:
    rows = AccessToken.objects.filter(user_id=user_id, revoked_at__isnull=True)
    return rows.exclude(expires_at__lte=now).order_by("-id")


def token_by_secret(secret: str) -> tuple[UUID, UUID] | None:
    """(organisation id, token id) of a presented secret; None for an unknown one. Asked before a tenant is known."""
    if not is_well_formed(secret):
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT organization_id, token_id FROM steelyard_token_by_hash(%s)", [hash_secret(secret)])
        row = cursor.fetchone()
    return (row[0], row[1]) if row else None


def credential_of(token_id: UUID, *, now: datetime) -> Credential | None:
    """Whom a token of the scope's organisation stands for; None where it is revoked, expired or its owner inactive.

    Asked by every request of the API, so in plain SQL: building the query costs more than answering it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CREDENTIAL, [token_id, now])
        row = cursor.fetchone()
    if row is None:
        return None
    token, organization_id, user_id, scopes, *facts = row
    return Credential(token, organization_id, user_id, tuple(scopes), *facts)


def _project_key(asked: str | UUID) -> dict[str, object]:
    words = str(asked)
    organization, slash, slug = words.partition("/")
    if slash:
        return {"organization__slug": organization, "slug": slug}
    try:
        return {"pk": UUID(words)}
    except ValueError:
        return {}
