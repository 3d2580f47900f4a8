"""Names of people, for pages and searches that hold their ids alone."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q

from tenants.models import Organization, User

_AT_MOST = 500


def ids_of_people_named(words: str) -> frozenset[UUID]:
    """People whose name or address contains the words, also those who have left; the caller's rows decide whom it
    meets. At most 500."""
    found = User.objects.filter(Q(full_name__icontains=words) | Q(email__icontains=words))
    return frozenset(found.values_list("pk", flat=True)[:_AT_MOST])


def names_of(ids: Iterable[UUID]) -> dict[UUID, str]:
    """Names of people (their address where they have none) whom rows already visible to the caller refer to."""
    rows = User.objects.filter(pk__in={*ids}).values_list("pk", "full_name", "email")
    return {pk: full_name or email for pk, full_name, email in rows}


def organization_names() -> list[tuple[str, str]]:
    """(slug, name) of every organisation, by name. In the platform's scope."""
    return list(Organization.objects.order_by("name").values_list("slug", "name"))
