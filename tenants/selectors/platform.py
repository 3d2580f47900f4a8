"""Questions about every organisation, for the platform's scope, and about one from outside."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from core.errors import NotFound
from tenants.enums import PrincipalKind
from tenants.models import Membership, Organization, Project, User
from tenants.models.users import ERASED_AT


def tenants_matching(words: str) -> QuerySet[Organization]:
    """Every organisation, by slug."""
    rows = Organization.objects.order_by("slug")
    return rows.filter(Q(slug__icontains=words) | Q(name__icontains=words)) if words else rows


def headcounts(organization_ids: Collection[UUID]) -> dict[UUID, tuple[int, int]]:
    """How many people and open projects each of these organisations has."""
    people = Membership.objects.filter(organization_id__in=organization_ids, user__kind=PrincipalKind.PERSON)
    projects = Project.objects.filter(organization_id__in=organization_ids, closed_at=None)
    by_people = dict(people.values_list("organization_id").annotate(found=Count("user_id", distinct=True)))
    by_projects = dict(projects.values_list("organization_id").annotate(found=Count("pk")))
    return {one: (by_people.get(one, 0), by_projects.get(one, 0)) for one in organization_ids}


def tenant_by_slug(slug: str) -> Organization:
    """Raises NotFound."""
    found = Organization.objects.filter(slug=slug).first()
    if found is None:
        raise NotFound("organization", slug)
    return found


def people_known(words: str) -> QuerySet[User]:
    """Every person of the platform whose name or address contains the words, by address; erased ones are nobody."""
    rows = User.objects.filter(kind=PrincipalKind.PERSON).exclude(email__endswith=ERASED_AT).order_by("email")
    return rows.filter(Q(full_name__icontains=words) | Q(email__icontains=words)) if words else rows


def roles_of_people(people: Collection[UUID]) -> dict[UUID, list[Membership]]:
    """The roles of these people in every organisation, by its slug."""
    rows = Membership.objects.filter(user_id__in=people).select_related("organization", "team", "project")
    found: dict[UUID, list[Membership]] = {}
    for row in rows.order_by("organization__slug", "team__slug", "project__slug"):
        found.setdefault(row.user_id, []).append(row)
    return found


def principals_here() -> list[Membership]:
    """Who holds which role in the scope's organisation: people first, by address."""
    rows = Membership.objects.select_related("user", "team", "project")
    return list(rows.order_by("user__kind", "user__email", "team__slug", "project__slug"))
