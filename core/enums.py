"""Names of the ground's tasks."""

from __future__ import annotations

from enum import StrEnum


class TaskName(StrEnum):
    SEAL_AUDIT = "core.seal_audit"
