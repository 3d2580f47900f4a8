"""What each caller ought to meet on each route, and whether what it met is that. Pure: the rules of the proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.routes import ANONYMOUS, AUTHENTICATED
from portal.isolation.words import Caller, Cell, Expected, Outcome, Reply, Side
from tenants.enums import Permission, PlatformPermission

Grants = Mapping[str, frozenset[str]]
"""What each role grants, by the one table of roles."""

LISTS_OF_WHAT_ONE_SEES = frozenset(
    {
        *("/workspaces", "/disks", "/approvals", "/policies"),
        *("/api/v1/workloads", "/api/v1/volumes", "/api/v1/approvals", "/api/v1/policies"),
    }
)
"""Lists that open for everybody in the organisation, and show each what they may see."""

ALSO_NEEDS: Mapping[str, str] = {"/api/v1/workloads/<uuid:workload_id>/usage": Permission.VIEW_WORKLOAD.value}
"""What stands under an object: one has to see that too, or it is not there."""

_HIDDEN = frozenset({403, 404})
_NOT_READY = 503
_NOT_SO = 409
"""Somebody was let in, and the thing itself is not so that it could be answered: a workspace leaves no artefacts."""


@dataclass(frozen=True, slots=True)
class Question:
    """What of a route decides who may use it. `permission` None: the route declares none, so nobody may. `lists`: it is
    one of LISTS_OF_WHAT_ONE_SEES."""

    permission: str | None
    reads: bool
    names_an_object: bool
    personal: bool = False
    of_api: bool = False
    lists: bool = False
    also: str = ""

    @property
    def of_the_platform(self) -> bool:
        return self.permission in PlatformPermission.values


def expected(question: Question, caller: Caller, grants: Grants) -> Expected | None:
    """None where the caller has nothing to ask here: what everybody may, and writes that name nothing of another's."""
    if question.permission is None:
        return Expected.ABSENT if question.reads else None
    if caller.side is Side.VISITOR:
        return _of_a_visitor(question)
    if question.permission == ANONYMOUS:
        return None
    if caller.side is Side.MEMBER:
        return _of_a_member(question, caller.role, grants)
    if caller.side is Side.PLATFORM and question.of_the_platform:
        return _by_table(question, question.permission in grants[caller.role])
    if question.names_an_object:
        return Expected.ABSENT
    if caller.side is Side.PLATFORM:
        return None
    if question.of_the_platform:
        return _by_table(question, granted=False)
    return Expected.SILENT if question.reads else None


def _of_a_visitor(question: Question) -> Expected | None:
    if question.permission != ANONYMOUS:
        return Expected.SIGN_IN
    return Expected.SILENT if question.reads else None


def _of_a_member(question: Question, role: str, grants: Grants) -> Expected | None:
    if question.permission == AUTHENTICATED:
        if not question.reads:
            return None
        return Expected.DENIED if question.personal else Expected.ALLOWED
    held = grants[role]
    return _by_table(question, question.permission in held and (not question.also or question.also in held))


def _by_table(question: Question, granted: bool) -> Expected:
    """Reads are asked; of a member's writes the permission check alone is, so that nobody's work is touched."""
    if question.reads:
        if granted:
            return Expected.ALLOWED
        return Expected.EMPTY if question.lists else Expected.DENIED
    return Expected.MAY if granted else Expected.MAY_NOT


def judged(caller: Caller, wanted: Expected, question: Question, reply: Reply) -> Cell:
    """The cell of a route that was asked."""
    what = _fault(wanted, question, reply)
    outcome = Outcome.FAILED if what else Outcome.HELD
    return Cell(caller, outcome, wanted, str(reply.status), what)


def _fault(wanted: Expected, question: Question, reply: Reply) -> str:
    """What is wrong with the answer; empty where it is as it ought to be."""
    if reply.crashed:
        return f"The route broke: {reply.crashed}"
    if reply.status >= 500 and reply.status != _NOT_READY:
        return f"The route broke with {reply.status}."
    if reply.told and wanted is not Expected.ALLOWED:
        return f"The answer names {len(reply.told)} of the other organisation's rows, such as {reply.told[0]}."
    if wanted is Expected.EMPTY:
        return "" if reply.status < 400 or reply.status in _HIDDEN else f"The list answered {reply.status}."
    if wanted is Expected.SILENT:
        return ""
    if wanted is Expected.SIGN_IN:
        return "" if _asks_to_sign_in(question, reply) else f"A visitor got {reply.status}, not the door."
    if wanted is Expected.ALLOWED:
        return (
            ""
            if reply.status < 400 or reply.status == _NOT_SO
            else f"The role grants {question.permission}, but the route said no."
        )
    if wanted is Expected.ABSENT:
        return "" if reply.status == 404 else f"A stranger got {reply.status}, where nothing ought to exist."
    return "" if reply.status in _HIDDEN else f"The role grants no {question.permission}, but the route let it in."


def _asks_to_sign_in(question: Question, reply: Reply) -> bool:
    if question.of_api:
        return reply.status == 401 and reply.challenge.startswith("Bearer")
    return reply.status == 302 and reply.location.startswith("/accounts/login/")


def decided(caller: Caller, wanted: Expected, permission: str, *, held: bool, strayed: bool) -> Cell:
    """The cell of a write whose permission check was asked. `strayed`: it said yes elsewhere, where no role is held."""
    seen = Expected.MAY if held else Expected.MAY_NOT
    what = "" if seen is wanted else f"The table of roles says {wanted}, the permission check {seen}: {permission}."
    if strayed:
        what = f"The permission check grants {permission} where the role is not held."
    return Cell(caller, Outcome.FAILED if what else Outcome.HELD, wanted, seen, what)


def not_asked(caller: Caller, wanted: Expected, why: str) -> Cell:
    """`why`: no_object, elsewhere (the object lies where the role is not held), no_place (nowhere to hold it)."""
    return Cell(caller, Outcome.NOT_ASKED, wanted, why)
