"""People: made by invitation or by the installation, never by a visitor."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from core import audit
from core.errors import Conflict, FieldError, Invalid
from core.names import checked_name, fault_in_name
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
    words = checked_name("full_name", full_name, most=120)
    user = User.objects.create_user(email, password, full_name=words)
    user.time_zone = time_zone
    user.platform_role = platform_role
    user.save(update_fields=["time_zone", "platform_role"])
    ref = ObjectRef("user", str(user.pk))
    audit.record(actor, "person.created", ref, now=now, after={"platform_role": platform_role})
    return user


@transaction.atomic
def write(*, email: str, full_name: str, password: str, time_zone: str = "UTC") -> User:
    """The row of a person who proved the address, for an act that records itself.

    Raises Invalid for a name or password that will not do, Conflict where the address has an account.
    """
    user = User(email=email.strip().lower(), full_name=full_name.strip(), time_zone=time_zone)
    fault = fault_in_name("full_name", full_name, most=120)
    errors = [fault] if fault is not None else []
    try:
        validate_password(password, user)
    except ValidationError as error:
        errors += [FieldError("password", "too_weak", message) for message in error.messages]
    if errors:
        raise Invalid(errors)
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:
        raise Conflict("This address has an account. Sign in with it first.", code="has_account") from None
    return user
