"""Who stands behind what acts: the people who could have made a service account do it."""

from __future__ import annotations

from uuid import UUID

from tenants.models import AccessToken, ServiceAccount


def makers_behind(user_id: UUID) -> frozenset[UUID]:
    """Who made a service account, and who ever made a token of it; through accounts that made accounts, too.

    Nobody for a person. Revoked tokens count: what was asked with one stays asked.
    """
    found: set[UUID] = set()
    ask = {user_id}
    while ask:
        accounts = dict(ServiceAccount.objects.filter(user_id__in=ask).values_list("user_id", "created_by"))
        if not accounts:
            break
        tokens = AccessToken.objects.filter(user_id__in=accounts).values_list("created_by", flat=True)
        makers = {maker for maker in (*accounts.values(), *tokens) if maker is not None}
        ask = makers - found
        found |= makers
    return frozenset(found - {user_id})
