"""Finding audit entries, newest first.

Ids, people, verbs and times are answered by indexes. A word that may stand anywhere is looked for in the texts of the
organisation's entries, one after another until the page is full: row-level security lets PostgreSQL use no trigram
index for a tenant (`LIKE` is not leakproof), and for 100,000 entries without any hit that is a quarter of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Func, Q, QuerySet, TextField

from core.models import AuditEvent


class _Texts(Func):
    """Everything that is written in an entry, as one text."""

    output_field = TextField()
    template = "(%(expressions)s)"
    arg_joiner = " || ' ' || "


@dataclass(frozen=True, slots=True)
class Found:
    """People whom a word names: the caller knows their names, the entries only their ids."""

    word: str
    ids: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class Search:
    """`since` ≤ at < `until`. `verb` may end in `.*`. `actors` and `principals` (on behalf of) are None for anybody;
    `words`: each must fit somewhere in the entry, or name somebody who is in it."""

    words: tuple[Found, ...] = ()
    actors: frozenset[UUID] | None = None
    principals: frozenset[UUID] | None = None
    verb: str = ""
    object_kind: str = ""
    object_id: str = ""
    outcome: str = ""
    source: str = ""
    since: datetime | None = None
    until: datetime | None = None


def matching(organization_id: UUID, search: Search) -> QuerySet[AuditEvent]:
    """The entries of one chain that fit, in no order yet. Inside a scope that may see them."""
    rows = AuditEvent.objects.filter(organization_id=organization_id)
    exact = {
        "object_kind": search.object_kind,
        "object_id": search.object_id,
        "outcome": search.outcome,
        "source_kind": search.source,
    }
    rows = rows.filter(**{column: value for column, value in exact.items() if value})
    if search.verb:
        rows = rows.filter(verb__in=_verbs_like(organization_id, search.verb))
    if search.actors is not None:
        rows = rows.filter(actor_id__in=search.actors)
    if search.principals is not None:
        rows = rows.filter(on_behalf_of__in=search.principals)
    if search.since:
        rows = rows.filter(at__gte=search.since)
    if search.until:
        rows = rows.filter(at__lt=search.until)
    if search.words:
        rows = rows.alias(texts=_Texts("verb", "object_label", "object_id", "request_id", "source_address"))
    for found in search.words:
        rows = rows.filter(_somewhere(found))
    return rows


def verbs_of(organization_id: UUID) -> list[str]:
    """Every verb in the chain, stepping from one to the next by the index."""
    with connection.cursor() as cursor:
        cursor.execute(_VERBS, [organization_id, organization_id])
        return [row[0] for row in cursor.fetchall() if row[0] is not None]


def _verbs_like(organization_id: UUID, verb: str) -> list[str]:
    if not verb.endswith("*"):
        return [verb]
    return [known for known in verbs_of(organization_id) if known.startswith(verb.rstrip("*"))]


def _somewhere(found: Found) -> Q:
    """An id is looked up as such; any other word may be part of a text."""
    people = {str(person) for person in found.ids}
    about = Q(actor_id__in=found.ids) | Q(on_behalf_of__in=found.ids) | Q(object_id__in=people)
    exact = _as_uuid(found.word)
    if exact is not None:
        names = ("pk", "actor_id", "on_behalf_of", "token_id", "act_id")
        ids = [Q(**{name: exact}) for name in names] + [Q(object_id=str(exact)), Q(request_id=str(exact))]
        return _any(ids)
    texts = Q(texts__icontains=found.word)
    return texts | about if found.ids else texts


def _any(conditions: list[Q]) -> Q:
    joined = Q()
    for condition in conditions:
        joined |= condition
    return joined


def _as_uuid(word: str) -> UUID | None:
    try:
        return UUID(word)
    except ValueError:
        return None


_VERBS = """
    WITH RECURSIVE known AS (
        (SELECT verb FROM core_auditevent WHERE organization_id = %s ORDER BY verb LIMIT 1)
        UNION ALL
        SELECT (
            SELECT e.verb FROM core_auditevent e
            WHERE e.organization_id = %s AND e.verb > known.verb ORDER BY e.verb LIMIT 1
        ) FROM known WHERE known.verb IS NOT NULL
    )
    SELECT verb FROM known
"""
