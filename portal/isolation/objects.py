"""Real objects of an organisation for every name that an address uses, and the ids that would give it away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.apps import apps
from django.db import connection, models
from psycopg import sql

from portal.isolation.routes import Address
from portal.isolation.words import Found, Party
from tenants.enums import PlatformPermission

_MOST_IDS = 500
"""Of each table the newest: an organisation's usage alone may be millions of rows."""

Wanted = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Sort:
    """Where an object for a name is found: the newest row that is as wanted, else (`else_personal`) any, which is one
    person's own then."""

    label: str
    wanted: Wanted = field(default_factory=dict)
    value: str = "pk"
    personal: bool = False
    else_personal: bool = False


_A_MEMBER = Sort("tenants.Membership", {"user__kind": "person", "user__is_active": True}, value="user_id")
SORTS: Mapping[str, Sort] = {
    "workload_id": Sort("provisioning.Workload"),
    "volume_id": Sort("provisioning.Volume", {"deleted_at": None}),
    "session_id": Sort("billing.UsageSession"),
    "invoice_id": Sort("billing.InvoiceDocument", {"kind": "invoice"}),
    "note_id": Sort("billing.InvoiceDocument", {"kind": "credit_note"}),
    "organization_id": Sort("tenants.Organization"),
    "organization_slug": Sort("tenants.Organization", value="slug"),
    "project_id": Sort("tenants.Project", {"closed_at": None}),
    "project_slug": Sort("tenants.Project", {"closed_at": None}, value="slug"),
    "team_id": Sort("tenants.Team"),
    "membership_id": Sort("tenants.Membership", {"user__kind": "person"}),
    "member_id": _A_MEMBER,
    "person_id": _A_MEMBER,
    "invitation_id": Sort("tenants.Invitation"),
    "account_id": Sort("tenants.ServiceAccount"),
    "token_id": Sort("tenants.AccessToken", {"user__kind": "person", "revoked_at": None}, personal=True),
    "approval_id": Sort("tenants.Approval"),
    "request_id": Sort("tenants.Approval", {"kind": "quota"}),
    "quota_id": Sort("tenants.Quota"),
    "policy_id": Sort("tenants.Policy", {"retired_at": None}),
    "domain_id": Sort("tenants.EmailDomain"),
    "mapping_id": Sort("tenants.GroupMapping"),
    "event_id": Sort("core.AuditEvent"),
    "view_id": Sort("core.AuditView", {"shared": True}, else_personal=True),
    "stream_id": Sort("core.AuditStream"),
}
"""What belongs to an organisation, by its name in addresses."""

IMPLIED: Mapping[str, Sort] = {"/api/v1/identity-provider": Sort("tenants.IdentityProvider")}
"""Addresses that name no object and are about one all the same: an organisation's only one."""

OF_EVERYBODY: Mapping[str, Sort] = {
    "region_id": Sort("provisioning.Region"),
    "accelerator_id": Sort("provisioning.AcceleratorType"),
    "shape_id": Sort("provisioning.Shape", {"active": True}),
    "image_id": Sort("provisioning.Image", {"active": True}),
    "cluster_id": Sort("provisioning.Cluster", {"active": True}),
    "cluster_slug": Sort("provisioning.Cluster", {"active": True, "driver": "kubernetes"}, value="slug"),
    "sku_id": Sort("billing.Sku"),
    "book_id": Sort("billing.PriceBook"),
}
OF_THE_PLATFORM: Mapping[str, Sort] = {
    "policy_id": Sort("tenants.PlatformPolicy", {"retired_at": None}),
    "report_id": Sort("portal.IsolationReport"),
    "leak_id": Sort("provisioning.Leak"),
}
"""What the platform alone has; on its own routes a name means this first."""


_SLUGS = {"/project/": "project_slug", "/clusters/": "cluster_slug"}
"""Of what a plain `slug` is one, by the word before it; else of an organisation."""


@dataclass(frozen=True, slots=True)
class Objects:
    """What was found in an organisation. `project`: where project roles are held; `focused`: names of what lies there,
    or in no project at all; `telling`: ids of its rows."""

    party: Party
    project_id: UUID | None
    other_project_id: UUID | None
    found: Mapping[str, Found]
    focused: frozenset[str]
    platform: Mapping[str, Found]
    telling: frozenset[str]

    def for_address(self, address: Address) -> dict[str, Found | None]:
        """An object for each name in the address; None where the organisation has none."""
        of_platform = address.declared is not None and address.declared.permission in PlatformPermission.values
        found = {name: self._one(address, name, of_platform) for name in address.parameters}
        return found | ({"implied": self.found.get(address.path)} if address.path in IMPLIED else {})

    def _one(self, address: Address, name: str, of_platform: bool) -> Found | None:
        if name == "slug":
            name = next((sort for part, sort in _SLUGS.items() if part in address.path), "organization_slug")
        if of_platform and name in self.platform:
            return self.platform[name]
        if of_platform and name in OF_THE_PLATFORM:
            return None
        return self.found.get(name)

    def all_here(self, names: list[str]) -> bool:
        return all(name in self.focused or name not in SORTS for name in names)


def find(party: Party, stranger: Party, *, now: datetime) -> Objects:
    """Read in the platform's scope, by organisation: tables of every app, by name."""
    project, other = _projects(party, stranger)
    found: dict[str, Found] = {"month": Found(now.strftime("%Y-%m"), "month"), "position": Found("1", "position")}
    focused: set[str] = set()
    for name, sort in {**SORTS, **IMPLIED}.items():
        row, here = _row(sort, party, project)
        if row is not None:
            found[name] = _found(sort, row)
            focused |= {name} if here else set()
    common = {name: row for name, sort in OF_EVERYBODY.items() if (row := _newest(sort, {})) is not None}
    found |= {name: _found(OF_EVERYBODY[name], row) for name, row in common.items()}
    ours = {name: row for name, sort in OF_THE_PLATFORM.items() if (row := _newest(sort, {})) is not None}
    platform = {name: _found(OF_THE_PLATFORM[name], row) for name, row in ours.items()}
    return Objects(party, project, other, found, frozenset(focused), platform, _telling(party))


def tenant_tables() -> list[tuple[str, str]]:
    """(table, column that says whose a row is), as the database has them, whatever the models say."""
    with connection.cursor() as cursor:
        cursor.execute(_TENANT_TABLES)
        rows = [(str(name), "organization_id") for (name,) in cursor.fetchall()]
    return sorted([*rows, (apps.get_model("tenants.Organization")._meta.db_table, "id")])


_TENANT_TABLES = """
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
    AND a.attname = 'organization_id' AND NOT a.attisdropped
"""


def _projects(party: Party, stranger: Party) -> tuple[UUID | None, UUID | None]:
    """The project of the newest work, and another one. Its slug should be none of the stranger's, who has its own."""
    projects = apps.get_model("tenants.Project")._base_manager
    own = projects.filter(organization_id=party.id, closed_at=None)
    theirs = projects.filter(organization_id=stranger.id).values_list("slug", flat=True)
    worked_in = apps.get_model("provisioning.Workload")._base_manager.filter(organization_id=party.id)
    newest = list(worked_in.order_by("-pk").values_list("project_id", flat=True)[:_MOST_IDS])
    order = {key: rank for rank, key in reversed(list(enumerate(newest)))}
    rows = sorted(own.values_list("pk", "slug"), key=lambda row: (row[1] in set(theirs), order.get(row[0], _MOST_IDS)))
    keys: list[UUID] = [row[0] for row in rows]
    return (keys[0] if keys else None), (keys[1] if len(keys) > 1 else None)


def _row(sort: Sort, party: Party, project: UUID | None) -> tuple[models.Model | None, bool]:
    """The newest row in the project, else the newest at all; and whether it lies where project roles are held."""
    model = apps.get_model(sort.label)
    names = {each.attname for each in model._meta.concrete_fields}
    whose = {"pk" if sort.label == "tenants.Organization" else "organization_id": party.id}
    if sort.label == "tenants.Project":
        return _newest(sort, {**whose, "pk": project}), True
    if "project_id" in names:
        here = _newest(sort, {**whose, "project_id": project}) if project else None
        return (here, True) if here is not None else (_newest(sort, whose), False)
    found = _newest(sort, whose)
    if found is None and sort.else_personal:
        return model._base_manager.filter(**whose).order_by("-pk").first(), False
    return found, "team_id" not in names


def _newest(sort: Sort, whose: Wanted) -> models.Model | None:
    found: models.Model | None = (
        apps.get_model(sort.label)._base_manager.filter(**sort.wanted, **whose).order_by("-pk").first()
    )
    return found


def _found(sort: Sort, row: models.Model) -> Found:
    personal = sort.personal or (sort.else_personal and not _is_as_wanted(sort, row))
    return Found(str(getattr(row, sort.value)), sort.label, personal)


def _is_as_wanted(sort: Sort, row: models.Model) -> bool:
    return all(getattr(row, name) == value for name, value in sort.wanted.items())


def _telling(party: Party) -> frozenset[str]:
    """Ids of rows, table by table; ids that are numbers tell nothing."""
    query = sql.SQL("SELECT id::text FROM {} WHERE {} = %s ORDER BY id DESC LIMIT %s")
    found: set[str] = set()
    with connection.cursor() as cursor:
        for table, key in tenant_tables():
            cursor.execute(query.format(sql.Identifier(table), sql.Identifier(key)), [party.id, _MOST_IDS])
            found |= {row[0] for row in cursor.fetchall() if len(row[0]) == 36}
    return frozenset(found)
