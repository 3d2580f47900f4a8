"""Questions about signing in: second factors, providers and domains."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

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


_STANDING = """
    SELECT o.mfa_required,
        EXISTS (SELECT 1 FROM mfa_authenticator a WHERE a.user_id = %s AND a.type IN ('totp', 'webauthn')),
        EXISTS (SELECT 1 FROM tenants_identityprovider p WHERE p.id = %s AND p.enabled)
    FROM tenants_organization o WHERE o.id = %s
"""
