"""What a driver may know of a workload."""

from __future__ import annotations

from provisioning.drivers.base import WorkspaceSpec
from provisioning.models import Workload


def spec_of(workload: Workload) -> WorkspaceSpec:
    """What the driver may know of a workload. Needs shape, accelerator, image and volume loaded."""
    shape = workload.shape
    return WorkspaceSpec(
        workload_id=workload.pk,
        organization_id=workload.organization_id,
        project_id=workload.project_id,
        volume_id=workload.volume_id,
        kind=workload.kind,
        image=workload.image.reference,
        vcpus=shape.vcpus,
        memory_gib=shape.memory_gib,
        disk_gib=workload.volume.size_gib,
        accelerator=shape.accelerator.model if shape.accelerator else None,
        accelerator_count=shape.accelerator_count,
        env=dict(workload.env),
    )
