"""The walk itself: every caller on every route, each request in a transaction that is undone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from django.db import transaction

from core import scope
from core.errors import Forbidden, NotFound
from core.types import NOBODY
from portal.isolation import expecting
from portal.isolation.asking import Asker, Credentials
from portal.isolation.document import RouteRow
from portal.isolation.expecting import Grants, Question
from portal.isolation.objects import Objects
from portal.isolation.people import Person, appear, has_a_place, undone
from portal.isolation.routes import Address
from portal.isolation.words import Caller, Cell, Expected, Found, Side
from provisioning.services.reach import reaching_nobody
from tenants.enums import Permission, PlatformPermission, PlatformRole, Role
from tenants.permissions import authorize_platform, holds
from tenants.selectors import organization_by_id, project_by_id
from tenants.selectors.roles import platform_matrix, role_matrix

CALLERS: tuple[Caller, ...] = (
    *(Caller(Side.MEMBER, role.value) for role in Role),
    *(Caller(Side.STRANGER, role.value) for role in Role),
    *(Caller(Side.PLATFORM, role.value) for role in PlatformRole),
    Caller(Side.VISITOR),
)
_A_VISITOR = Credentials()
_NOBODYS = str(NOBODY)
"""A visitor is stopped at the door whether there is such an object or not."""
_NOISY = ("django.request", "django.security", "django.security.csrf")


@dataclass(frozen=True)
class Walk:
    """`subject`: whose objects are asked for; `stranger`: where those belong who must not see them."""

    subject: Objects
    stranger: Objects
    routes: Sequence[Address]
    asker: Asker
    grants: Grants
    now: datetime
    cells: dict[Address, list[Cell]] = field(default_factory=dict)

    def home_of(self, caller: Caller) -> Objects:
        return self.subject if caller.side is Side.MEMBER else self.stranger


def grants() -> Grants:
    """What each role grants, by the table that the portal shows."""
    found: dict[str, frozenset[str]] = {}
    for matrix in (role_matrix(), platform_matrix()):
        rows = [row for group in matrix.groups for row in group.rows]
        for place, column in enumerate(matrix.columns):
            found[column.name] = frozenset(row.name for row in rows if row.granted[place])
    return found


def walk(
    subject: Objects,
    stranger: Objects,
    *,
    routes: Sequence[Address],
    callers: Sequence[Caller],
    now: datetime,
    tell: Callable[[str], None],
) -> list[RouteRow]:
    """Ask every route as every caller. Leaves nothing behind: no row, no task, no mail, no call to a cluster."""
    with aside():
        one = Walk(subject, stranger, routes, Asker(subject.telling), grants(), now)
        for caller in callers:
            asked = _as(caller, one)
            tell(f"{caller.name}: {asked} questions")
    return [RouteRow(each, _shown(one.subject.for_address(each)), one.cells.get(each, [])) for each in routes]


@contextmanager
def aside() -> Iterator[None]:
    """No cluster is called, the shared cache is not written, and the log is not filled with denials that were meant."""
    loggers = [logging.getLogger(name) for name in _NOISY]
    levels = [logger.level for logger in loggers]
    shared = caches["default"]
    with ExitStack() as stack:
        stack.enter_context(reaching_nobody())
        caches["default"] = LocMemCache("prove_isolation", {})
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            caches["default"] = shared
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def _as(caller: Caller, one: Walk) -> int:
    home, asked = one.home_of(caller), 0
    with undone():
        person = _person(caller, home, one.now)
        for address in one.routes:
            cell = _cell(caller, person, address, one)
            if cell is not None:
                one.cells.setdefault(address, []).append(cell)
                asked += 1
    return asked


def _person(caller: Caller, home: Objects, now: datetime) -> Person | None:
    if caller.side is Side.VISITOR or not has_a_place(caller, home):
        return None
    return appear(caller, home, now=now)


def _cell(caller: Caller, person: Person | None, address: Address, one: Walk) -> Cell | None:
    objects = one.subject.for_address(address)
    question = _question(address, objects)
    wanted = expecting.expected(question, caller, one.grants)
    if wanted is None:
        return None
    why = _why_not(caller, person, objects, one)
    if wanted in (Expected.MAY, Expected.MAY_NOT):
        assert question.permission is not None
        if person is None:
            return expecting.not_asked(caller, wanted, "no_place")
        return _decided(caller, person, wanted, question.permission, one)
    if why:
        return expecting.not_asked(caller, wanted, why)
    path = address.of({name: found.value if found is not None else _NOBODYS for name, found in objects.items()})
    with transaction.atomic():
        reply = one.asker.ask(address, path, person.shown if person else _A_VISITOR)
        transaction.set_rollback(True)
    return expecting.judged(caller, wanted, question, reply)


def _question(address: Address, objects: Mapping[str, Found | None]) -> Question:
    declared = address.declared
    return Question(
        permission=declared.permission if declared else None,
        reads=address.reads,
        names_an_object=address.names_an_object,
        personal=any(found.personal for found in objects.values() if found is not None),
        of_api=address.is_api,
        lists=address.path in expecting.LISTS_OF_WHAT_ONE_SEES,
        also=expecting.ALSO_NEEDS.get(address.path, ""),
    )


def _why_not(caller: Caller, person: Person | None, objects: Mapping[str, Found | None], one: Walk) -> str:
    """Why a question cannot be asked honestly; empty where it can."""
    if caller.side is Side.VISITOR:
        return ""
    if person is None:
        return "no_place"
    if any(found is None for found in objects.values()):
        return "no_object"
    in_project = caller.side is Side.MEMBER and caller.role in _IN_PROJECTS
    return "elsewhere" if in_project and not one.subject.all_here([*objects]) else ""


_IN_PROJECTS = frozenset({Role.PROJECT_ADMIN, Role.DEVELOPER, Role.VIEWER})


def _decided(caller: Caller, person: Person, wanted: Expected, permission: str, one: Walk) -> Cell:
    """Asked of the door itself, with the grants that the role's membership has really written."""
    if permission in PlatformPermission.values:
        held = _platform_lets(person, PlatformPermission(permission))
        return expecting.decided(caller, wanted, permission, held=held, strayed=False)
    home, asked = one.home_of(caller), Permission(permission)
    with scope.of_organization(home.party.id):
        organization = organization_by_id(home.party.id)
        if caller.role not in _IN_PROJECTS:
            held = holds(person.actor, asked, organization)
            return expecting.decided(caller, wanted, permission, held=held, strayed=False)
        assert home.project_id is not None
        held = holds(person.actor, asked, project_by_id(home.project_id))
        beside = [organization] + ([project_by_id(home.other_project_id)] if home.other_project_id else [])
        strayed = any(holds(person.actor, asked, place) for place in beside)
    return expecting.decided(caller, wanted, permission, held=held, strayed=strayed)


def _platform_lets(person: Person, permission: PlatformPermission) -> bool:
    try:
        authorize_platform(person.actor, permission)
    except (Forbidden, NotFound):
        return False
    return True


def _shown(objects: Mapping[str, Found | None]) -> dict[str, str | None]:
    return {name: found.value if found else None for name, found in objects.items()}
