"""Who may change what is sold and at which price."""

from __future__ import annotations

from core.errors import Forbidden
from core.types import Actor, ObjectRef
from tenants.enums import PlatformRole

PUBLISH_PRICES = "publish_prices"


def authorize_catalogue(actor: Actor, ref: ObjectRef) -> None:
    """The catalogue is the platform's. Raises Forbidden for everyone else."""
    if not actor.is_system and actor.platform_role != PlatformRole.ADMIN:
        raise Forbidden(PUBLISH_PRICES, ref, ask="the platform's administrator")
