"""A build whose every check in Python is gone: permissions hold for all, and queries ask for everybody's rows.

What it leaves in place is what the database does, and which organisation a session or token belongs to.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

import pytest
from django.db import models
from django.db.models import Q

from core.models import ScopedManager
from provisioning import permissions as work
from tenants import permissions
from tenants.enums import Permission
from tests.architecture.test_tables import tenant_owned

_TENANCY = ("organization", "project", "user", "owner", "actor", "quota__project", "content_object", "holder")


class Dropped(StrEnum):
    """TENANCY: conditions on whose a row is; pages still render. EVERYTHING: each condition, also the id asked for."""

    TENANCY = "tenancy"
    EVERYTHING = "everything"


@contextmanager
def build(dropped: Dropped) -> Iterator[None]:
    owned = set(tenant_owned())
    keep_all = models.QuerySet._filter_or_exclude_inplace  # type: ignore[attr-defined]

    def filter_nothing(self, negate, args, kwargs):
        if self.model not in owned:
            return keep_all(self, negate, args, kwargs)
        if dropped is Dropped.EVERYTHING:
            return None
        kept = {name: value for name, value in kwargs.items() if not name.startswith(_TENANCY)}
        return keep_all(self, negate, [_without_tenancy(each) if isinstance(each, Q) else each for each in args], kept)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models.QuerySet, "_filter_or_exclude_inplace", filter_nothing)
        patch.setattr(ScopedManager, "get_queryset", models.Manager.get_queryset)
        everything = frozenset(Permission)
        _replace(patch, permissions.permissions_on, lambda *_: everything)
        _replace(patch, permissions.permissions_by_project, lambda _, ids: dict.fromkeys(ids, everything))
        _replace(patch, permissions.projects_filter, lambda *_, **__: Q())
        _replace(patch, work.may_act, lambda *_: True)
        _replace(patch, work.may_enter, lambda *_: True)
        yield


def _without_tenancy(condition: Q) -> Q:
    kept = Q(_connector=condition.connector, _negated=condition.negated)
    for child in condition.children:
        if isinstance(child, Q):
            kept.children.append(_without_tenancy(child))
        elif not (isinstance(child, tuple) and str(child[0]).startswith(_TENANCY)):
            kept.children.append(child)
    return kept if kept.children else Q()


def _replace(patch: pytest.MonkeyPatch, function: object, other: object) -> None:
    """Wherever it was imported to."""
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()) if hasattr(module, "__dict__") else []:
            if value is function:
                patch.setattr(module, name, other)
