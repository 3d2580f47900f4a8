"""Which role may do what: one table, tested cell by cell."""

from __future__ import annotations

from tenants.enums import Permission as P
from tenants.enums import Role as R

_SEE_PROJECT = frozenset({P.VIEW_PROJECT, P.VIEW_QUOTA, P.VIEW_WORKLOAD, P.VIEW_USAGE})
_WORK = _SEE_PROJECT | {P.LAUNCH_WORKLOAD}

ROLE_PERMISSIONS: dict[R, frozenset[P]] = {
    R.OWNER: frozenset(P),
    R.ADMIN: frozenset(P) - {P.VIEW_INVOICE},
    R.BILLING: frozenset({P.VIEW_ORGANIZATION, P.VIEW_PROJECT, P.VIEW_QUOTA, P.VIEW_USAGE, P.VIEW_INVOICE}),
    R.AUDITOR: frozenset({P.VIEW_ORGANIZATION, P.VIEW_MEMBERS, P.VIEW_AUDIT}) | _SEE_PROJECT,
    R.PROJECT_ADMIN: _WORK | {P.OPERATE_WORKLOAD},
    R.DEVELOPER: _WORK,
    R.VIEWER: _SEE_PROJECT,
}
"""LAUNCH_WORKLOAD covers one's own workloads; OPERATE_WORKLOAD the stop, start and delete of other people's."""

ORGANIZATION_ROLES = frozenset({R.OWNER, R.ADMIN, R.BILLING, R.AUDITOR})
PROJECT_ROLES = frozenset({R.PROJECT_ADMIN, R.DEVELOPER, R.VIEWER})


def permissions_of(role: str) -> frozenset[P]:
    """What a role grants on the object it is held on and on everything below."""
    return ROLE_PERMISSIONS[R(role)]
