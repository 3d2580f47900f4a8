"""A request for approval in words: what, by whom, why, at which price, by which rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING
from uuid import UUID

from django.utils.timezone import localtime

from core.money import Money
from core.types import Json
from tenants.enums import ApprovalKind, ApprovalState

if TYPE_CHECKING:
    from tenants.models import Approval, ApprovalDecision, User

_STATES: Mapping[str, tuple[str, str]] = {
    ApprovalState.OPEN: ("wait", "Waiting"),
    ApprovalState.APPROVED: ("good", "Approved"),
    ApprovalState.REFUSED: ("bad", "Refused"),
    ApprovalState.EXPIRED: ("off", "Expired"),
    ApprovalState.VOIDED: ("off", "Taken back"),
}
_TITLES: Mapping[str, str] = {
    ApprovalKind.LAUNCH: "Launch {}",
    ApprovalKind.QUOTA: "Change the quota {}",
    ApprovalKind.MOVE: "Move {} to another team",
    ApprovalKind.PRICE: "Change the price {}",
    ApprovalKind.CREDIT: "Give credit to {}",
}
_LABELS: Mapping[str, str] = {
    "disk_gib": "Disk",
    "from": "Now",
    "to": "Asked",
    "price_per_hour": "Price",
    "max_lifetime_seconds": "Longest life",
}
_UNSHOWN = frozenset({"shape", "accelerators", "from_team_id", "to_team_id"})


@dataclass(frozen=True, slots=True)
class Fact:
    """`money` where the value is an amount, else `text`."""

    label: str
    text: str = ""
    money: Money | None = None
    per: str = ""


@dataclass(frozen=True, slots=True)
class _Change:
    """What a request changes, from one field of its payload to another; `also`: what its title says already."""

    label: str
    before: str
    after: str
    also: frozenset[str]

    @property
    def told(self) -> frozenset[str]:
        return self.also | {self.before, self.after}

    def shown(self, payload: Mapping[str, Json]) -> Fact | None:
        if self.before not in payload or self.after not in payload:
            return None
        return Fact(self.label, text=f"{_plain(payload[self.before])} → {_plain(payload[self.after])}")


_CHANGES: Mapping[str, _Change] = {
    ApprovalKind.QUOTA: _Change("Limit", "limit_before", "limit", frozenset({"level", "place", "resource"})),
    ApprovalKind.MOVE: _Change("Team", "from", "to", frozenset({"project"})),
}


@dataclass(frozen=True, slots=True)
class Said:
    name: str
    at: datetime
    approved: bool
    comment: str


@dataclass(frozen=True, slots=True)
class Shown:
    id: UUID
    kind: str
    title: str
    subject: str
    subject_url: str
    place: str
    asked_by: str
    justification: str
    facts: tuple[Fact, ...]
    rule: str
    needed: int
    agreed: int
    tone: str
    word: str
    created_at: datetime
    expires_at: datetime
    is_open: bool
    said: tuple[Said, ...]
    approve_url: str
    refuse_url: str
    withdraw_url: str
    stands_behind: bool
    """Whoever looks could have had it asked for, so others decide."""


def shown(
    row: Approval,
    said: Sequence[ApprovalDecision],
    people: Mapping[UUID, User],
    *,
    approve_url: str,
    refuse_url: str,
    withdraw_url: str,
    subject_url: str,
    titles: Mapping[str, str] | None = None,
    stands_behind: bool = False,
) -> Shown:
    tone, word = _STATES[row.state]
    place = row.project or row.team or row.organization
    return Shown(
        id=row.pk,
        kind=ApprovalKind(row.kind).label,
        title=_TITLES[row.kind].format(row.subject_label),
        subject=row.subject_label,
        subject_url=subject_url,
        place=place.name,
        asked_by=_name(row.asked_by, people),
        justification=row.justification,
        facts=facts_of(row.kind, row.payload),
        rule=", ".join((titles or {}).get(name, name) for name in row.rule.split(", ")),
        needed=row.needed,
        agreed=sum(each.verdict == "approved" for each in said),
        tone=tone,
        word=word,
        created_at=row.created_at,
        expires_at=row.expires_at,
        is_open=row.state == ApprovalState.OPEN,
        said=tuple(Said(_name(each.by, people), each.at, each.verdict == "approved", each.comment) for each in said),
        approve_url=approve_url,
        refuse_url=refuse_url,
        withdraw_url=withdraw_url,
        stands_behind=stands_behind,
    )


def facts_of(kind: str, payload: Mapping[str, Json]) -> tuple[Fact, ...]:
    """What was asked, one line each, what matters most first. What is nested and no amount stays out."""
    change = _CHANGES.get(kind)
    found = [change.shown(payload)] if change else []
    hidden = _UNSHOWN | change.told if change else _UNSHOWN
    found += [_fact(name, value) for name, value in payload.items() if name not in hidden]
    return tuple(fact for fact in found if fact is not None)


def _fact(name: str, value: Json) -> Fact | None:
    label = _LABELS.get(name, name.replace("_", " ").capitalize())
    if isinstance(value, dict):
        money = _money(value)
        return Fact(label, money=money, per="h" if name.endswith("_per_hour") else "") if money else None
    if value is None or value == "" or isinstance(value, list):
        return None
    if name == "until":
        return Fact(label, text=_moment(str(value)))
    if name.endswith("_seconds") and isinstance(value, int):
        return Fact(label, text=_span(value))
    if name.endswith("_gib"):
        return Fact(label, text=f"{value} GiB")
    return Fact(label, text="yes" if value is True else "no" if value is False else str(value))


def _plain(value: Json) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _moment(text: str) -> str:
    """An instant where the person is; what is none is shown as it stands."""
    try:
        return f"{localtime(datetime.fromisoformat(text)):%-d %b %Y, %H:%M}"
    except ValueError:
        return text


def _money(value: Mapping[str, Json]) -> Money | None:
    try:
        return Money(Decimal(str(value["amount"])), str(value["currency"]))
    except (KeyError, InvalidOperation):
        return None


def _span(seconds: int) -> str:
    """Whole hours where it is that, else as a clock says it."""
    hours, rest = divmod(seconds, 3600)
    return f"{hours} h" if not rest else str(timedelta(seconds=seconds))


def _name(person_id: UUID | None, people: Mapping[UUID, User]) -> str:
    person = people.get(person_id) if person_id else None
    return (person.full_name or person.email) if person else "the platform"
