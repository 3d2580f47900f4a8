"""Errors of tenancy."""

from __future__ import annotations

from core.errors import Conflict


class QuotaMissing(Conflict):
    """A project has no quota of a resource that it is asked for."""

    code = "quota_missing"
