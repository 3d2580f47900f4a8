"""Workloads: the list, the launch and its dry run, one workload, and the wishes for it."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.routes import route
from provisioning.api import examples, outputs
from provisioning.api.describing import VerdictOutput, WorkloadOutput, WorkloadRowOutput
from provisioning.api.inputs import DryRunFilters, Launch, LaunchInput, RenameInput, WorkloadFilters
from provisioning.api.showing import address_of, shown
from provisioning.models import Workload as WorkloadRow
from provisioning.selectors.launching import preview
from provisioning.selectors.listing import clashes, workloads_matching
from provisioning.selectors.workloads import workload_for
from provisioning.services import launching, wishes
from tenants.enums import Permission
from tenants.selectors import project_for


class Answering(Endpoint):
    """Answers a wish with the workload as it is now."""

    def wished(self, workload: WorkloadRow) -> HttpResponse:
        body = shown(self.actor, workload, self.moment)
        return self.accepted(body, location=address_of(workload), version=workload.version)


class Workloads(Answering):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.listed")
    @shape(
        summary="List workloads",
        output=WorkloadRowOutput,
        filters=WorkloadFilters,
        listed=True,
        versioned=True,
        example=examples.ROW,
    )
    def get(self, request: Request) -> HttpResponse:
        """Those of the projects where you may look. Deleted ones are listed under `state=deleted` alone."""
        rows = workloads_matching(self.actor, self.filters(WorkloadFilters))
        return self.tagged(self.page(rows.values_list(*outputs.ROW_COLUMNS), outputs.workload_rows))

    @route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.launched")
    @shape(
        summary="Launch a workload",
        input=LaunchInput,
        filters=DryRunFilters,
        output=WorkloadOutput,
        status=202,
        refuses=True,
        example=examples.WORKLOAD,
        answers={200: "A dry run: what a launch would say now. Nothing is stored."},
        other_outputs={200: VerdictOutput},
    )
    def post(self, request: Request) -> HttpResponse:
        """The wish is recorded and the workload starts as soon as there is room.

        Refused with every reason and its numbers where quota, policy or capacity say no. Where approval is all that
        is missing, it is stored in the state `requested` and holds nothing until somebody has agreed; likewise where
        others have borrowed what is asked of one's own share (`lent_out`), until it is back. `dry_run=true` tells the
        same beforehand, with prices and with what would start instead.
        """
        wish = self.read(LaunchInput)
        if self.filters(DryRunFilters).dry_run:
            return self._would(wish)
        project = project_for(self.actor, wish.project)
        made = launching.launch(
            actor=self.actor, project=project, spec=wish.spec, justification=wish.justification, now=self.moment
        )
        return self.wished(made)

    def _would(self, wish: Launch) -> HttpResponse:
        project = project_for(self.actor, wish.project)
        found = preview(self.actor, project, wish.spec, self.moment)
        more = clashes(project, wish.spec, self.moment)
        return self.answer(outputs.verdict(found, more=more, currency=project.organization.currency), kept=False)


class Workload(Answering):
    @route(permission=Permission.VIEW_WORKLOAD, verb="workload.viewed")
    @shape(summary="Show a workload", output=WorkloadOutput, versioned=True, example=examples.WORKLOAD)
    def get(self, request: Request, workload_id: UUID) -> HttpResponse:
        """Its ETag is the row's version. The cost, and the last sign of work, grow by themselves and are not in it."""
        workload = workload_for(self.actor, workload_id)
        return self.one(workload.version, lambda: shown(self.actor, workload, self.moment))

    @route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.renamed")
    @shape(
        summary="Rename a workload",
        input=RenameInput,
        output=WorkloadOutput,
        versioned=True,
        refuses=True,
        example=examples.WORKLOAD,
    )
    def patch(self, request: Request, workload_id: UUID) -> HttpResponse:
        """Other people's need operate_workload. Usage that was weighed under the old name keeps it."""
        wish = self.read(RenameInput)
        workload = wishes.rename(
            actor=self.actor,
            workload_id=workload_id,
            name=wish.name,
            now=self.moment,
            version=self.expected_version(),
        )
        return self.one(workload.version, lambda: shown(self.actor, workload, self.moment))

    @route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.delete_requested")
    @shape(
        summary="Delete a workload",
        output=WorkloadOutput,
        status=202,
        versioned=True,
        refuses=True,
        example=examples.WORKLOAD,
    )
    def delete(self, request: Request, workload_id: UUID) -> HttpResponse:
        """Whatever it does. Its disk can be brought back for seven days. Other people's need operate_workload."""
        return self.wished(
            wishes.delete(actor=self.actor, workload_id=workload_id, now=self.moment, version=self.expected_version())
        )


class Stop(Answering):
    @route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.stop_requested")
    @shape(summary="Stop a workload", output=WorkloadOutput, status=202, refuses=True, example=examples.WORKLOAD)
    def post(self, request: Request, workload_id: UUID) -> HttpResponse:
        """End what runs, keep the files. In the queue this cancels; what is stopped stays so."""
        return self.wished(wishes.stop(actor=self.actor, workload_id=workload_id, now=self.moment))


class Start(Answering):
    @route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.start_requested")
    @shape(summary="Start a workload", output=WorkloadOutput, status=202, refuses=True, example=examples.WORKLOAD)
    def post(self, request: Request, workload_id: UUID) -> HttpResponse:
        """Run again with the same files, also after a failure. Admission looks again and may refuse."""
        return self.wished(wishes.start(actor=self.actor, workload_id=workload_id, now=self.moment))


class ForceDelete(Answering):
    @route(permission=Permission.OPERATE_WORKLOAD, verb="workload.force_deleted")
    @shape(
        summary="Force a delete that hangs", output=WorkloadOutput, status=202, refuses=True, example=examples.WORKLOAD
    )
    def post(self, request: Request, workload_id: UUID) -> HttpResponse:
        """Give up on a cluster that does not answer. What may be left there is recorded, and ended when it is found."""
        return self.wished(wishes.force_delete(actor=self.actor, workload_id=workload_id, now=self.moment))


class Extend(Answering):
    @route(permission=Permission.LAUNCH_WORKLOAD, verb="workload.extended")
    @shape(summary="Keep a workload", output=WorkloadOutput, status=202, refuses=True, example=examples.WORKLOAD)
    def post(self, request: Request, workload_id: UUID) -> HttpResponse:
        """No rule stops it before `kept_until`."""
        return self.wished(wishes.extend(actor=self.actor, workload_id=workload_id, now=self.moment))
