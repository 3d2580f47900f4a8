"""Names of the ground's tasks."""

from __future__ import annotations

from enum import StrEnum


class TaskName(StrEnum):
    SEAL_AUDIT = "core.seal_audit"
    ANCHOR_AUDIT = "core.anchor_audit"
    CUT_AUDIT = "core.cut_audit"
    STREAM_AUDIT = "core.stream_audit"
    DELIVER_AUDIT = "core.deliver_audit"
