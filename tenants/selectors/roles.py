"""The table of roles as people read it: who may do what, in groups."""

from __future__ import annotations

from dataclasses import dataclass

from tenants.enums import Permission, PlatformPermission, PlatformRole, Role
from tenants.roles import ORGANIZATION_ROLES, PLATFORM_ROLE_PERMISSIONS, ROLE_PERMISSIONS

_GROUPS = {
    "organization": "Organisation",
    "sign_in": "Organisation",
    "members": "People",
    "service_accounts": "People",
    "team": "Teams and projects",
    "project": "Teams and projects",
    "quota": "Quotas, policies, approvals",
    "policy": "Quotas, policies, approvals",
    "approval": "Quotas, policies, approvals",
    "workload": "Workloads",
    "usage": "Money",
    "invoice": "Money",
    "billing": "Money",
    "audit": "Audit",
}
_WORDS = {
    "view_organization": "See the organisation",
    "manage_organization": "Change its name and time zone",
    "transfer_organization": "Hand it over to another owner",
    "close_organization": "Close it",
    "manage_sign_in": "Set how its people sign in",
    "view_members": "See who belongs to it",
    "manage_members": "Invite, give and take back roles",
    "manage_service_accounts": "Make and disable service accounts",
    "view_team": "See teams",
    "manage_team": "Make, change and delete teams",
    "view_project": "See projects",
    "create_project": "Make projects",
    "manage_project": "Change and close projects, and their members",
    "view_quota": "See quotas",
    "request_quota": "Ask for more quota",
    "manage_quota": "Set limits",
    "view_policy": "See policies",
    "manage_policy": "Write policies",
    "view_approval": "See what waits for approval",
    "decide_approval": "Approve and refuse",
    "view_workload": "See workspaces and what they cost",
    "launch_workload": "Launch, and run one’s own",
    "operate_workload": "Stop and delete other people’s",
    "view_usage": "See usage",
    "view_invoice": "See invoices",
    "manage_billing": "Set whom invoices name and where they go",
    "view_audit": "Read the audit log",
    "manage_audit": "Set how long it is kept and where it goes",
}


@dataclass(frozen=True, slots=True)
class RoleColumn:
    name: str
    label: str
    held_on: str


@dataclass(frozen=True, slots=True)
class RightRow:
    """One permission: its name in the API, its words, and for each column whether the role grants it."""

    name: str
    words: str
    granted: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class RightGroup:
    title: str
    rows: tuple[RightRow, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    columns: tuple[RoleColumn, ...]
    groups: tuple[RightGroup, ...]


def role_matrix() -> Matrix:
    """Roles of an organisation, its teams and projects."""
    columns = tuple(
        RoleColumn(role.value, role.label, "organisation" if role in ORGANIZATION_ROLES else "team or project")
        for role in Role
    )
    groups: dict[str, list[RightRow]] = {}
    for permission in Permission:
        granted = tuple(permission in ROLE_PERMISSIONS[role] for role in Role)
        row = RightRow(permission.value, _WORDS.get(permission.value, _plain(permission.value)), granted)
        groups.setdefault(_group_of(permission.value), []).append(row)
    return Matrix(columns, tuple(RightGroup(title, tuple(rows)) for title, rows in groups.items()))


def platform_matrix() -> Matrix:
    """Roles of the platform's own people, across organisations."""
    columns = tuple(RoleColumn(role.value, _plain(role.value), "platform") for role in PlatformRole)
    rows = tuple(
        RightRow(
            permission.value,
            _plain(permission.value),
            tuple(permission in PLATFORM_ROLE_PERMISSIONS[role] for role in PlatformRole),
        )
        for permission in PlatformPermission
    )
    return Matrix(columns, (RightGroup("Across organisations", rows),))


def _group_of(name: str) -> str:
    noun = name.partition("_")[2]
    return _GROUPS.get(noun, noun.replace("_", " ").capitalize())


def _plain(name: str) -> str:
    return name.replace("_", " ").capitalize()
