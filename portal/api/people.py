"""People and their end: erasing joins tenancy and provisioning, so it is put together here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from allauth.core import ratelimit
from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from core import audit, scope
from core.api.endpoint import Endpoint
from core.api.errors import TooManyRequests
from core.api.fields import ReasonOutput
from core.api.inputs import Filters, Input, Text
from core.api.shapes import shape
from core.errors import FieldError, Forbidden, Invalid
from core.routes import AUTHENTICATED, route
from core.types import Actor, ObjectRef, Reason
from portal.erasing import erase, prospect
from provisioning.api.inputs import DryRun, Switch
from tenants.api import me
from tenants.enums import PlatformPermission
from tenants.permissions import CONSOLE, authorize_platform
from tenants.selectors import people_by_id
from tenants.selectors.platform import people_known, roles_of_people
from tenants.services.erasure import LONGEST_REASON, Holdings

if TYPE_CHECKING:
    from tenants.models import User

_MAY = PlatformPermission.MANAGE_TENANTS


class DryRunFilters(Filters[DryRun]):
    into = DryRun

    dry_run = Switch(required=False, help_text="Say what would go and what stands against it, and do nothing.")


@dataclass(frozen=True, slots=True)
class OwnErasure:
    email: str
    password: str


class OwnErasureInput(Input[OwnErasure]):
    into = OwnErasure
    example = {"email": "noor@example.com", "password": "a sentence that only you know"}

    email = Text(max_length=254, help_text="Your own, so that no account is erased by mistake.")
    password = Text(max_length=1000, trim_whitespace=False)


@dataclass(frozen=True, slots=True)
class Erasure:
    email: str
    reason: str


class ErasureInput(Input[Erasure]):
    into = Erasure
    example = {"email": "noor@example.com", "reason": "Asked for in ticket 4711."}

    email = Text(max_length=254, help_text="The person's own, so that nobody is erased by mistake.")
    reason = Text(max_length=LONGEST_REASON, help_text="Kept in the audit log, so without the person's name.")


class HoldingsOutput(serializers.Serializer[object]):
    roles = serializers.IntegerField()
    tokens = serializers.IntegerField()
    sessions = serializers.IntegerField()
    factors = serializers.IntegerField(help_text="Second factors and recovery codes.")
    identities = serializers.IntegerField(help_text="Links with an organisation's sign-in.")


class ErasureOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    erased = serializers.BooleanField()
    holds = HoldingsOutput(help_text="What goes, besides name and address.")
    hindered_by = ReasonOutput(many=True)


class FoundPersonOutput(serializers.Serializer[object]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    full_name = serializers.CharField()
    platform_role = serializers.CharField(allow_blank=True)
    organizations = serializers.ListField(child=serializers.SlugField())
    created_at = serializers.DateTimeField()


@dataclass(frozen=True, slots=True)
class PersonFilter:
    q: str = ""


class PersonFilters(Filters[PersonFilter]):
    into = PersonFilter

    q = serializers.CharField(required=False, max_length=120, help_text="In the name or the address.")


class Me(me.Me):
    @route(permission=AUTHENTICATED, verb="person.erased", scoped=False)
    @shape(
        summary="Erase your account",
        input=OwnErasureInput,
        output=ErasureOutput,
        filters=DryRunFilters,
        refuses=True,
    )
    def delete(self, request: Request) -> HttpResponse:
        """For good: name, address, ways in and roles. Refused, with every reason, while something needs you.

        The body says your address and your password; whoever has none erases the account in the portal. A token with
        scopes never does. `dry_run=true` takes the same body, and tells what would go and what stands against it.
        """
        assert self.actor.id is not None
        asked = self.read(OwnErasureInput)
        if self.filters(DryRunFilters).dry_run:
            return self.answer(_foreseen(self.actor, self.actor.id, self))
        self._prove(asked.password)
        held = erase(actor=self.actor, user_id=self.actor.id, confirmed=asked.email, now=self.moment)
        return self.answer(_told(self.actor.id, held, erased=True))

    def _prove(self, password: str) -> None:
        """The password of the person, whatever token asks. Guesses are counted as at the door."""
        person = people_by_id([self.actor.person_id])[self.actor.person_id]
        if not person.has_usable_password():
            ref = ObjectRef("person", str(person.pk))
            raise Forbidden("own_account", ref, ask="nobody: do it in the portal, after a fresh sign-in")
        if not ratelimit.consume(self.request._request, action="reauthenticate", user=person):
            raise TooManyRequests("Too many tries. Wait a few minutes.", retry_after_seconds=300)
        if not person.check_password(password):
            raise Invalid([FieldError("password", "wrong", "This is not your password.")])


class People(Endpoint):
    needs_organization = False

    @route(permission=_MAY, verb="person.listed", scoped=False)
    @shape(summary="List people", output=FoundPersonOutput, listed=True, filters=PersonFilters)
    def get(self, request: Request) -> HttpResponse:
        """Everybody with an account, newest first, for the platform's own people."""
        authorize_platform(self.actor, _MAY)
        asked = self.filters(PersonFilters)
        with scope.of_platform():
            audit.record(self.actor, "person.listed", CONSOLE, now=self.moment)
            return self.page(people_known(asked.q), _people)


class Person(Endpoint):
    needs_organization = False

    @route(permission=_MAY, verb="person.erased", scoped=False)
    @shape(summary="Erase a person", input=ErasureInput, output=ErasureOutput, filters=DryRunFilters, refuses=True)
    def delete(self, request: Request, person_id: UUID) -> HttpResponse:
        """At their request, by the platform, for a reason. Refused, with every reason, while something needs them.

        `dry_run=true` takes the same body, and tells what would go and what stands against it.
        """
        authorize_platform(self.actor, _MAY, ObjectRef("person", str(person_id)))
        asked = self.read(ErasureInput)
        if self.filters(DryRunFilters).dry_run:
            return self.answer(_foreseen(self.actor, person_id, self))
        held = erase(actor=self.actor, user_id=person_id, confirmed=asked.email, reason=asked.reason, now=self.moment)
        return self.answer(_told(person_id, held, erased=True))


def _foreseen(actor: Actor, person_id: UUID, at: Endpoint) -> dict[str, object]:
    found = prospect(actor=actor, user_id=person_id, now=at.moment)
    return _told(person_id, found.holds, erased=False, hindered_by=found.hindered_by)


def _told(person_id: UUID, holds: Holdings, *, erased: bool, hindered_by: Sequence[Reason] = ()) -> dict[str, object]:
    reasons = [reason.as_json() for reason in hindered_by]
    return {"id": person_id, "erased": erased, "holds": asdict(holds), "hindered_by": reasons}


def _people(rows: Sequence[User]) -> list[dict[str, object]]:
    roles = roles_of_people([row.pk for row in rows])
    return [
        {
            "id": row.pk,
            "email": row.email,
            "full_name": row.full_name,
            "platform_role": row.platform_role,
            "organizations": sorted({each.organization.slug for each in roles.get(row.pk, [])}),
            "created_at": row.created_at,
        }
        for row in rows
    ]
