"""Which role may do what: one table, shown as the matrix page and tested cell by cell."""

from __future__ import annotations

from tenants.enums import Permission as P
from tenants.enums import PlatformPermission as PP
from tenants.enums import PlatformRole as PR
from tenants.enums import Role as R

_SEE_PROJECT = frozenset({P.VIEW_PROJECT, P.VIEW_QUOTA, P.VIEW_WORKLOAD, P.VIEW_USAGE, P.VIEW_POLICY, P.VIEW_APPROVAL})
_WORK = _SEE_PROJECT | {P.LAUNCH_WORKLOAD, P.REQUEST_QUOTA}
_LEAD = _WORK | {P.OPERATE_WORKLOAD, P.MANAGE_PROJECT, P.DECIDE_APPROVAL, P.VIEW_MEMBERS}
_SEE_ALL = _SEE_PROJECT | {P.VIEW_ORGANIZATION, P.VIEW_TEAM, P.VIEW_MEMBERS}

ROLE_PERMISSIONS: dict[R, frozenset[P]] = {
    R.OWNER: frozenset(P),
    R.ADMIN: frozenset(P) - {P.VIEW_INVOICE, P.MANAGE_BILLING, P.TRANSFER_ORGANIZATION, P.CLOSE_ORGANIZATION},
    R.BILLING: frozenset(
        {P.VIEW_ORGANIZATION, P.VIEW_TEAM, P.VIEW_PROJECT, P.VIEW_QUOTA, P.VIEW_USAGE, P.VIEW_INVOICE, P.MANAGE_BILLING}
    ),
    R.AUDITOR: _SEE_ALL | {P.VIEW_AUDIT},
    R.PROJECT_ADMIN: _LEAD,
    R.DEVELOPER: _WORK,
    R.VIEWER: _SEE_PROJECT,
}
"""LAUNCH_WORKLOAD covers one's own workloads; OPERATE_WORKLOAD the stop, start and delete of other people's."""

ORGANIZATION_ROLES = frozenset({R.OWNER, R.ADMIN, R.BILLING, R.AUDITOR})
PROJECT_ROLES = frozenset({R.PROJECT_ADMIN, R.DEVELOPER, R.VIEWER})
"""Held on one project, or on a team and with it on each of the team's projects."""

PLATFORM_ROLE_PERMISSIONS: dict[PR, frozenset[PP]] = {
    PR.ADMIN: frozenset(PP),
    PR.OPERATOR: frozenset({PP.VIEW_TENANTS, PP.OPERATE_FLEET, PP.IMPERSONATE, PP.MANAGE_TENANT_QUOTA}),
    PR.AUDITOR: frozenset({PP.VIEW_TENANTS, PP.VIEW_PLATFORM_AUDIT}),
}


IMPERSONATION_PERMISSIONS = frozenset(permission for permission in P if permission.value.startswith("view_")) | {
    P.LAUNCH_WORKLOAD,
    P.OPERATE_WORKLOAD,
    P.REQUEST_QUOTA,
}
"""The most that the platform's people may do for somebody: see and work, never govern, never hand out secrets."""


def permissions_of(role: str) -> frozenset[P]:
    """What a role grants on the object it is held on and on everything below."""
    return ROLE_PERMISSIONS[R(role)]


def on_team(role: str) -> frozenset[P]:
    """What a project role held on a team grants there: the same, and to see the team itself."""
    return permissions_of(role) | {P.VIEW_TEAM}


def platform_permissions_of(role: str) -> frozenset[PP]:
    """What a platform role grants across organisations; nothing for no role."""
    return PLATFORM_ROLE_PERMISSIONS[PR(role)] if role else frozenset()
