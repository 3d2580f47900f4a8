"""Who may change the catalogue, who may see an invoice, and who handles money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import Forbidden
from core.types import Actor, ObjectRef
from tenants.enums import Permission, PlatformPermission, PlatformRole
from tenants.permissions import authorize, holds, platform_permissions_on

if TYPE_CHECKING:
    from tenants.models import Organization

PUBLISH_PRICES = "publish_prices"


def authorize_catalogue(actor: Actor, ref: ObjectRef) -> None:
    """The catalogue is the platform's. Raises Forbidden for everyone else."""
    if not actor.is_system and actor.platform_role != PlatformRole.ADMIN:
        raise Forbidden(PUBLISH_PRICES, ref, ask="the platform's administrator")


def authorize_invoices(actor: Actor, organization: Organization) -> None:
    """Every member knows their organisation, so one who may not see its invoices is told so. Raises Forbidden."""
    if not holds(actor, Permission.VIEW_INVOICE, organization) and not handles_money(actor):
        raise Forbidden(Permission.VIEW_INVOICE, organization.ref)


def authorize_money(actor: Actor) -> None:
    """Invoices are issued, corrected and marked as paid by the platform's finance. Raises Forbidden."""
    if not handles_money(actor):
        ref = ObjectRef("organization", str(actor.tenant_id))
        raise Forbidden(PlatformPermission.MANAGE_INVOICES, ref, ask="the platform's finance")


def handles_money(actor: Actor) -> bool:
    return actor.is_system or PlatformPermission.MANAGE_INVOICES in platform_permissions_on(actor)


def authorize_profile(actor: Actor, organization: Organization) -> None:
    """Whom its invoices name, the organisation says itself. Raises Forbidden."""
    authorize(actor, Permission.MANAGE_BILLING, organization)
