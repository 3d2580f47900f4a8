"""An export of the audit log as one streamed answer, for pages, API and console. The export itself is an entry."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from django.http import StreamingHttpResponse

from core import audit, scope
from core.audit_export import OpenScope, csv_lines, json_lines
from core.errors import FieldError, Invalid
from core.types import Actor, Json, ObjectRef
from portal.audit_filters import search_of
from tenants.enums import Permission
from tenants.permissions import authorize
from tenants.selectors import organization_of
from tenants.selectors.names import names_of

CSV: Final = "csv"
JSON_LINES: Final = "jsonl"
MEDIA: Final = {CSV: "text/csv", JSON_LINES: "application/jsonl"}


def export(*, actor: Actor, chosen: Mapping[str, str], form: str, now: datetime) -> StreamingHttpResponse:
    """The entries of the actor's organisation that fit the filters. Called outside any scope; opens short ones."""
    _check(form)
    with scope.of_organization(actor.tenant_id, user_id=actor.person_id):
        organization = organization_of(actor)
        authorize(actor, Permission.VIEW_AUDIT, organization)
        note_export(actor, organization.pk, chosen, form, now)
    open_scope = partial(scope.of_organization, organization.pk)
    return streamed(organization.pk, chosen, form, open_scope, f"audit-{organization.slug}-{now:%Y-%m-%d}")


def export_as_platform(
    *, actor: Actor, organization_id: UUID, chosen: Mapping[str, str], form: str, name: str, now: datetime
) -> StreamingHttpResponse:
    """Any chain, for whom the console has authorised. The entry stands in the platform's own chain."""
    _check(form)
    with scope.of_platform():
        note_export(actor, organization_id, chosen, form, now)
    return streamed(organization_id, chosen, form, scope.of_platform, f"audit-{name}-{now:%Y-%m-%d}")


def note_export(actor: Actor, organization_id: UUID, chosen: Mapping[str, str], form: str, now: datetime) -> None:
    after: dict[str, Json] = {"format": form, "filters": [*sorted(chosen)]}
    audit.record(actor, "audit.exported", ObjectRef("audit", str(organization_id)), now=now, after=after)


def streamed(
    organization_id: UUID, chosen: Mapping[str, str], form: str, open_scope: OpenScope, name: str
) -> StreamingHttpResponse:
    with open_scope():
        search = search_of(chosen)
    lines = (
        csv_lines(organization_id, search, open_scope, names_of)
        if form == CSV
        else json_lines(organization_id, search, open_scope)
    )
    response = StreamingHttpResponse(lines, content_type=f"{MEDIA[form]}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    response["Cache-Control"] = "private, no-store"
    return response


def _check(form: str) -> None:
    if form not in MEDIA:
        raise Invalid([FieldError("format", "unknown", f"The formats are {', '.join(MEDIA)}.")])
