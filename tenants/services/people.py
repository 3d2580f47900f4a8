"""People: made by invitation or by the installation, never by a visitor."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from core import audit
from core.types import Actor, ObjectRef
from tenants.models import User


@transaction.atomic
def create_person(
    *,
    actor: Actor,
    email: str,
    password: str,
    full_name: str,
    time_zone: str,
    platform_role: str,
    now: datetime,
) -> User:
    """A person who may sign in. Runs in the platform's scope: people are global."""
    user = User.objects.create_user(email, password, full_name=full_name)
    user.time_zone = time_zone
    user.platform_role = platform_role
    user.save(update_fields=["time_zone", "platform_role"])
    ref = ObjectRef("user", str(user.pk))
    audit.record(actor, "person.created", ref, now=now, after={"platform_role": platform_role})
    return user
