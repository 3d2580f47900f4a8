"""Approvals: asked, decided by others than the asker, and run out. What follows them stands in `approval_effects`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.errors import Conflict, FieldError, Invalid, NotFound, Refused
from core.types import Actor, ActorKind, Json, ObjectRef, Reason, system_actor
from tenants.enums import ApprovalState, Decider, Permission, PlatformPermission, Verdict
from tenants.models import Approval, ApprovalDecision, Organization, Project, Team
from tenants.permissions import Place, authorize, authorize_platform
from tenants.selectors.approvals import approval_for, due_approvals, latest_approval
from tenants.selectors.behind import makers_behind
from tenants.services import approval_mail
from tenants.services.approval_effects import follow

log = structlog.get_logger(__name__)

LIFETIME = timedelta(days=7)
MOST_AT_ONCE = 500
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. `place`: where it is decided. `payload`: what exactly, with all that a decider must see.

    `asked_by`: for whom one of the platform's own parts asks; else the actor.
    """

    kind: str
    subject: ObjectRef
    place: Place
    justification: str = ""
    payload: Mapping[str, Json] = field(default_factory=dict)
    rule: str = ""
    needed: int = 1
    decider: Decider = Decider.ORGANIZATION
    lifetime: timedelta = LIFETIME
    asked_by: UUID | None = None


@transaction.atomic
def ask(*, actor: Actor, request: Request, now: datetime) -> Approval:
    """Ask for an approval. Raises Conflict while the same is asked already."""
    approval = write(actor=actor, request=request, now=now)
    audit.record(actor, "approval.asked", approval.ref, now=now, after=_told(approval))
    return approval


@transaction.atomic
def write(*, actor: Actor, request: Request, now: datetime) -> Approval:
    """The row of a request, for an act that records itself (a launch)."""
    if len(request.justification) > _LONGEST:
        raise Invalid([FieldError("justification", "too_long", f"At most {_LONGEST:,} characters.")])
    same = Approval.objects.filter(kind=request.kind, subject_id=request.subject.id, state=ApprovalState.OPEN)
    if same.exists():
        raise Conflict(f"An approval of {request.subject.label} is asked for already.", code="already_asked")
    place = request.place
    asker = request.asked_by or actor.id
    made = Approval.objects.create(
        organization_id=place.pk if isinstance(place, Organization) else place.organization_id,
        team=place if isinstance(place, Team) else None,
        project=place if isinstance(place, Project) else None,
        kind=request.kind,
        decider=request.decider,
        subject_kind=request.subject.kind,
        subject_id=UUID(request.subject.id),
        subject_label=request.subject.label[:120],
        asked_by=asker,
        behind=sorted(_behind(actor, asker, request)),
        justification=request.justification.strip(),
        payload=dict(request.payload),
        rule=request.rule,
        needed=request.needed,
        created_at=now,
        expires_at=now + request.lifetime,
    )
    approval_mail.tell_deciders(made, now=now)
    return made


def _behind(actor: Actor, asker: UUID | None, request: Request) -> frozenset[UUID]:
    """Who could have made the asker ask. The platform's own parts ask again for whoever stood behind it before."""
    found = makers_behind(asker) if asker else frozenset()
    if actor.operator_id is not None:
        found |= {actor.operator_id}
    if actor.is_system:
        before = latest_approval(request.kind, UUID(request.subject.id))
        found |= frozenset(before.behind) if before else frozenset()
    return found


def approve(*, actor: Actor, approval_id: UUID, now: datetime, comment: str = "") -> Approval:
    """Agree. The last of the needed people approves it, and what was asked follows in this transaction."""
    return _decide(actor, approval_id, Verdict.APPROVED, comment, now)


def refuse(*, actor: Actor, approval_id: UUID, now: datetime, comment: str = "") -> Approval:
    """One refusal refuses it, whoever agreed before."""
    return _decide(actor, approval_id, Verdict.REFUSED, comment, now)


@transaction.atomic
def void(*, actor: Actor, approval_id: UUID, now: datetime) -> Approval:
    """Take a request back: its asker alone (or the platform's own parts). Taking it back twice is once."""
    seen = approval_for(actor, approval_id)
    if not actor.is_system and seen.asked_by != actor.id:
        raise _not_by(seen, "not_the_asker", "Only who asked takes a request back.", ask="the person who asked")
    approval = _locked(approval_id)
    if approval.state == ApprovalState.VOIDED:
        return approval
    _must_be_open(approval, now)
    _settle(approval, ApprovalState.VOIDED, actor, now)
    audit.record(actor, "approval.voided", approval.ref, now=now, before={"state": "open"}, after={"state": "voided"})
    return approval


@transaction.atomic
def void_open(*, kind: str, subject_id: UUID, now: datetime) -> None:
    """Void what is open about an object that changed or went, for an act that records itself. Nothing follows."""
    for approval in Approval.objects.select_for_update().filter(
        kind=kind, subject_id=subject_id, state=ApprovalState.OPEN
    ):
        _write_state(approval, ApprovalState.VOIDED, now)


@transaction.atomic
def void_asked_by(person_id: UUID, *, now: datetime) -> None:
    """Void what a person has open, for an act that records itself. Nothing follows, and nobody is told."""
    for approval in Approval.objects.select_for_update().filter(asked_by=person_id, state=ApprovalState.OPEN):
        _write_state(approval, ApprovalState.VOIDED, now)


def expire_due(*, now: datetime) -> int:
    """Let run out what nobody decided in time, each in a scope and an act of its own. Returns how many."""
    ended = 0
    for due in due_approvals(now, most=MOST_AT_ONCE):
        try:
            with acts.begin(Source(SourceKind.SYSTEM)), scope.of_organization(due.organization_id):
                ended += _expire(due.organization_id, due.id, now)
        except Exception:
            log.exception("approval_not_expired", approval=str(due.id))
    return ended


def _expire(organization_id: UUID, approval_id: UUID, now: datetime) -> bool:
    approval = _locked(approval_id)
    if approval.state != ApprovalState.OPEN or now < approval.expires_at:
        return False
    actor = system_actor("approvals", organization_id)
    _settle(approval, ApprovalState.EXPIRED, actor, now)
    audit.record(actor, "approval.expired", approval.ref, now=now, before={"state": "open"}, after={"state": "expired"})
    return True


@transaction.atomic
def _decide(actor: Actor, approval_id: UUID, verdict: Verdict, comment: str, now: datetime) -> Approval:
    if len(comment) > _LONGEST:
        raise Invalid([FieldError("comment", "too_long", f"At most {_LONGEST:,} characters.")])
    _may_decide(actor, approval_for(actor, approval_id))
    approval = _locked(approval_id)
    said = {decision.by: decision.verdict for decision in approval.decisions.all()}
    person = actor.person_id
    if person in said:
        if said[person] == verdict:
            return approval
        raise Conflict(f"You have decided this already: {said[person]}.", code="already_decided")
    _must_be_open(approval, now)
    before: dict[str, Json] = {"state": approval.state, "agreed": len(said)}
    ApprovalDecision.objects.create(
        organization_id=approval.organization_id,
        approval=approval,
        by=person,
        at=now,
        verdict=verdict,
        comment=comment.strip(),
    )
    if verdict is Verdict.REFUSED:
        _settle(approval, ApprovalState.REFUSED, actor, now)
    elif len(said) + 1 >= approval.needed:
        _settle(approval, ApprovalState.APPROVED, actor, now)
    else:
        _write_state(approval, ApprovalState.OPEN, None)
    agreed = len(said) + (verdict is Verdict.APPROVED)
    after: dict[str, Json] = {"state": str(approval.state), "agreed": agreed, **_told(approval)}
    audit.record(actor, f"approval.{verdict}", approval.ref, now=now, before=before, after=after)
    return approval


def _may_decide(actor: Actor, approval: Approval) -> None:
    """The right on the place, and never about one's own request: eyes are people's, and each pair counts once."""
    if approval.decider == Decider.PLATFORM:
        authorize_platform(actor, PlatformPermission.DECIDE_PLATFORM_APPROVAL)
    else:
        authorize(actor, Permission.DECIDE_APPROVAL, approval.project or approval.team or approval.organization)
    if approval.asked_by == actor.id:
        raise _not_by(approval, "own_request", "Nobody decides their own request.")
    if actor.id in approval.behind:
        raise _not_by(approval, "own_request", "Nobody decides what they could have had asked for themselves.")
    if actor.operator_id is not None:
        raise _not_by(approval, "on_behalf", "Nobody decides in somebody else's name.")
    if actor.kind is not ActorKind.USER:
        raise _not_by(approval, "not_a_person", "A decision is a person's.")


def _not_by(approval: Approval, code: str, message: str, *, ask: str = "another person who may decide") -> Refused:
    return Refused([Reason(code=code, message=message, ask=ask)], ref=approval.ref)


def _must_be_open(approval: Approval, now: datetime) -> None:
    if approval.is_open(now):
        return
    if approval.state in (ApprovalState.OPEN, ApprovalState.EXPIRED):
        raise Conflict("This request has expired. It has to be asked anew.", code="expired")
    raise Conflict(f"This request is {approval.state} already.", code="already_settled")


def _locked(approval_id: UUID) -> Approval:
    found = (
        Approval.objects.select_for_update(of=("self",))
        .select_related("project", "team", "organization")
        .filter(pk=approval_id)
        .first()
    )
    if found is None:
        raise NotFound("approval", approval_id)
    return found


def _settle(approval: Approval, state: ApprovalState, actor: Actor, now: datetime) -> None:
    _write_state(approval, state, now)
    follow(approval, actor=actor, now=now)
    if state is not ApprovalState.VOIDED:
        approval_mail.tell_asker(approval, now=now)


def _write_state(approval: Approval, state: ApprovalState, settled_at: datetime | None) -> None:
    approval.state = state
    approval.settled_at = settled_at
    approval.version += 1
    approval.save(update_fields=["state", "settled_at", "version"])


def _told(approval: Approval) -> dict[str, Json]:
    """What the audit chain keeps of a request."""
    return {
        "kind": approval.kind,
        "subject": str(approval.subject_id),
        "rule": approval.rule,
        "needed": approval.needed,
        "asked_by": str(approval.asked_by) if approval.asked_by else None,
        "behind": [str(each) for each in approval.behind],
        "payload": approval.payload,
    }
