"""Errors of provisioning."""

from __future__ import annotations

from core.errors import Conflict, Refused


class NotAdmitted(Refused):
    """Admission says no; `reasons` holds every failing check with its numbers."""

    code = "not_admitted"


class NameTaken(Conflict):
    """A living workload of the project has this name."""

    code = "name_taken"


class WrongState(Conflict):
    """The wish does not fit the state that the workload is in."""

    code = "wrong_state"


class ArtifactsUnavailable(Conflict):
    """The workload's cluster does not show the files that it left, or not this one."""

    code = "artifacts_unavailable"


class VolumeUnavailable(Conflict):
    """The disk is in use or gone for good."""

    code = "volume_unavailable"
