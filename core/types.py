"""Values that every app speaks: who acts, on what, and why something was refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, Union
from uuid import UUID

Json: TypeAlias = Union[bool, int, str, list["Json"], dict[str, "Json"], None]
"""What is stored as JSON. Floats are left out on purpose: money and quantities travel as strings and integers."""

PLATFORM_ORGANIZATION_ID = UUID("00000000-0000-7000-8000-000000000000")
"""The reserved organisation of events that belong to the platform itself."""

NOBODY = UUID(int=0)


class ActorKind(StrEnum):
    USER = "user"
    SERVICE_ACCOUNT = "service_account"
    SYSTEM = "system"
    ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, in which organisation.

    `scopes` narrows what a token may do (None: everything its owner may); `session_key` names the portal session that
    asked, so that what it opened ends with it. `operator_id`: the platform's person who acts for `id`, time-limited.
    """

    kind: ActorKind
    id: UUID | None
    organization_id: UUID | None
    label: str = ""
    token_id: UUID | None = None
    scopes: frozenset[str] | None = None
    session_key: str = ""
    operator_id: UUID | None = None
    platform_role: str = ""
    bound: bool = False
    """The session was opened by the organisation's provider: it speaks in that organisation alone."""

    @property
    def is_system(self) -> bool:
        return self.kind is ActorKind.SYSTEM

    @property
    def person_id(self) -> UUID:
        """The id for look-ups: nobody's where no person acts, so that nothing is found."""
        return self.id or NOBODY

    @property
    def tenant_id(self) -> UUID:
        """The organisation's id for look-ups, likewise."""
        return self.organization_id or NOBODY


def system_actor(name: str, organization_id: UUID | None) -> Actor:
    """The platform itself, acting under the name of one of its parts ("reconciler", "sweeper")."""
    return Actor(kind=ActorKind.SYSTEM, id=None, organization_id=organization_id, label=name)


ANONYMOUS = Actor(kind=ActorKind.ANONYMOUS, id=None, organization_id=None)


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """An object as audit events and foreign apps hold it: kind, id and the label that it had at that time."""

    kind: str
    id: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something waits, failed or was refused, for machines (`code`, numbers) and for people (`message`, `ask`)."""

    code: str
    message: str
    resource: str | None = None
    asked: int | None = None
    used: int | None = None
    limit: int | None = None
    ask: str | None = None
    level: str | None = None
    rule: str | None = None

    def as_json(self) -> dict[str, Json]:
        pairs: dict[str, Json] = {
            "code": self.code,
            "message": self.message,
            "resource": self.resource,
            "asked": self.asked,
            "used": self.used,
            "limit": self.limit,
            "ask": self.ask,
            "level": self.level,
            "rule": self.rule,
        }
        return {name: value for name, value in pairs.items() if value is not None}
