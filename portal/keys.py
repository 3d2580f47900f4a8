"""Every secret that is stored encrypted, moved under the first of the installation's keys."""

from __future__ import annotations

from datetime import datetime

from allauth.mfa.models import Authenticator
from django.apps import apps

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.encryption import reencrypted
from core.types import PLATFORM_ORGANIZATION_ID, ObjectRef, system_actor

COLUMNS: dict[str, tuple[str, ...]] = {
    "core.AuditStream": ("secret", "former_secret"),
    "provisioning.ClusterAccess": ("secret",),
    "tenants.IdentityProvider": ("client_secret",),
    "tenants.Invitation": ("mail_secret",),
}
"""Columns by model. A test looks that nothing else encrypts."""
_FACTOR_KEYS = ("secret", "seed")


def rotate(*, now: datetime) -> int:
    """All or nothing, in one transaction; how many secrets it moved. Raises Undecipherable where a key is missing."""
    with acts.begin(Source(SourceKind.COMMAND)), scope.of_platform():
        moved = sum(_rotate_columns(label, names) for label, names in COLUMNS.items()) + _rotate_factors()
        actor = system_actor("keys", None)
        ref = ObjectRef("installation", str(PLATFORM_ORGANIZATION_ID))
        audit.record(actor, "field_keys.rotated", ref, now=now, after={"secrets_count": moved})
    return moved


def _rotate_columns(label: str, names: tuple[str, ...]) -> int:
    moved = 0
    for row in apps.get_model(label)._default_manager.select_for_update():
        held = [name for name in names if getattr(row, name)]
        for name in held:
            setattr(row, name, reencrypted(getattr(row, name)))
        if held:
            row.save(update_fields=held)
        moved += len(held)
    return moved


def _rotate_factors() -> int:
    moved = 0
    for factor in Authenticator.objects.select_for_update().exclude(type=Authenticator.Type.WEBAUTHN):
        held = [name for name in _FACTOR_KEYS if name in factor.data]
        factor.data = {**factor.data, **{name: reencrypted(factor.data[name]) for name in held}}
        factor.save(update_fields=["data"])
        moved += len(held)
    return moved
