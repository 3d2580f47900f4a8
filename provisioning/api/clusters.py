"""Clusters: a short form for people; the platform's own people see all of them and act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from uuid import UUID

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from core import scope
from core.api.endpoint import Endpoint
from core.api.shapes import shape
from core.errors import NotFound
from core.routes import AUTHENTICATED, route
from core.types import ObjectRef
from provisioning.api import cluster_shapes, examples
from provisioning.api.cluster_shapes import (
    ClusterChangeInput,
    ClusterCheckOutput,
    ClusterOutput,
    CredentialsInput,
    NewCluster,
    NewClusterInput,
    RemovalFilters,
    TryFilters,
)
from provisioning.enums import ClusterStanding
from provisioning.models import Cluster as ClusterRow
from provisioning.selectors import catalogue
from provisioning.selectors.clusters import access_of, runs_the_fleet, slug_of
from provisioning.services import cluster_access, cluster_health, cluster_standing, clusters
from provisioning.services.cluster_access import Given
from provisioning.services.clusters import Registration
from tenants.enums import PlatformPermission
from tenants.permissions import authorize_platform

MAY = PlatformPermission.OPERATE_FLEET
ADDRESS = "/api/v1/clusters"


class Answering(Endpoint):
    """Finds a cluster of the fleet for who runs it, and tells it whole."""

    def named(self, cluster_id: UUID) -> str:
        """Its slug. Raises NotFound, Forbidden."""
        authorize_platform(self.actor, MAY, ObjectRef("cluster", str(cluster_id)))
        with scope.of_platform():
            return slug_of(cluster_id)

    def told(self, row: ClusterRow) -> dict[str, object]:
        """The short form, and the rest to who runs the fleet."""
        if not runs_the_fleet(self.actor):
            return cluster_shapes.short(row)
        return cluster_shapes.full(row, access_of([row.pk]).get(row.pk))

    def shown(self, row: ClusterRow) -> HttpResponse:
        return self.tagged(self.answer(self.told(row)), version=row.revision)

    def done(self, act: Callable[[], ClusterRow]) -> HttpResponseBase:
        """200 with the cluster as it is then."""
        return self.as_platform(lambda: self.shown(act()))


class Clusters(Answering):
    @route(permission=AUTHENTICATED, verb="cluster.listed")
    @shape(summary="List clusters", output=ClusterOutput, listed=True, versioned=True, example=examples.CLUSTER)
    def get(self, request: Request) -> HttpResponse:
        """Those of the fleet: in short for people, whole for the platform's own."""
        rows = [row for row in catalogue.clusters() if row.standing != ClusterStanding.REMOVED]
        whole = runs_the_fleet(self.actor)
        access = access_of([row.pk for row in rows]) if whole else {}
        told = [cluster_shapes.full(row, access.get(row.pk)) if whole else cluster_shapes.short(row) for row in rows]
        return self.tagged(self.whole(told))

    @route(permission=MAY, verb="cluster.registered", scoped=False)
    @shape(
        summary="Register a cluster",
        input=NewClusterInput,
        filters=TryFilters,
        output=ClusterOutput,
        status=201,
        refuses=True,
        example=examples.CLUSTER,
        answers={200: "A dry run: all that is missing. Nothing is stored."},
        other_outputs={200: ClusterCheckOutput},
    )
    def post(self, request: Request) -> HttpResponseBase:
        """A kubeconfig or single fields. The cluster is looked at first, and refused with everything that it lacks.

        Its credentials are kept encrypted and shown to nobody. It offers nothing until its nodes have been listed,
        which follows at once. What is applied on it before stands in docs/clusters.md.
        """
        authorize_platform(self.actor, MAY)
        asked = self.read(NewClusterInput)
        registration = _registration(asked)
        if self.filters(TryFilters).dry_run:
            finding, problems = cluster_access.examine(actor=self.actor, registration=registration)
            return self.answer(cluster_shapes.found(finding, problems), kept=False)
        cluster_access.demand(actor=self.actor, registration=registration)
        return self.as_platform(lambda: self._registered(registration))

    def _registered(self, registration: Registration) -> HttpResponse:
        row = clusters.register(actor=self.actor, registration=registration, now=self.moment)
        return self.created(self.told(row), location=f"{ADDRESS}/{row.pk}")


class Cluster(Answering):
    @route(permission=AUTHENTICATED, verb="cluster.viewed")
    @shape(summary="Show a cluster", output=ClusterOutput, versioned=True, example=examples.CLUSTER)
    def get(self, request: Request, cluster_id: UUID) -> HttpResponse:
        row = next((row for row in catalogue.clusters() if row.pk == cluster_id), None)
        if row is None:
            raise NotFound("cluster", cluster_id)
        return self.shown(row)

    @route(permission=MAY, verb="cluster.changed", scoped=False)
    @shape(
        summary="Change a cluster",
        input=ClusterChangeInput,
        output=ClusterOutput,
        versioned=True,
        refuses=True,
        example=examples.CLUSTER,
    )
    def patch(self, request: Request, cluster_id: UUID) -> HttpResponseBase:
        """Its label, and its storage classes for new disks. If-Match asks for these alone, not for its health."""
        slug, asked, expected = self.named(cluster_id), self.read(ClusterChangeInput), self.expected_version()
        return self.done(
            lambda: clusters.change(
                actor=self.actor, slug=slug, change=asked, now=self.moment, expected_revision=expected
            )
        )

    @route(permission=MAY, verb="cluster.removed", scoped=False)
    @shape(summary="Remove a cluster", output=None, status=204, filters=RemovalFilters, refuses=True)
    def delete(self, request: Request, cluster_id: UUID) -> HttpResponseBase:
        """Out of the fleet; its credentials are forgotten. Refused with what is left there, unless `force=true`."""
        slug, asked = self.named(cluster_id), self.filters(RemovalFilters)
        return self.as_platform(lambda: self._removed(slug, force=asked.force))

    def _removed(self, slug: str, *, force: bool) -> HttpResponse:
        cluster_standing.remove(actor=self.actor, slug=slug, force=force, now=self.moment)
        return self.nothing()


class Cordon(Answering):
    @route(permission=MAY, verb="cluster.cordoned", scoped=False)
    @shape(summary="Cordon a cluster", output=ClusterOutput, refuses=True, example=examples.CLUSTER)
    def post(self, request: Request, cluster_id: UUID) -> HttpResponseBase:
        """Nothing new starts there; what runs goes on."""
        slug = self.named(cluster_id)
        return self.done(lambda: cluster_standing.cordon(actor=self.actor, slug=slug, now=self.moment))


class Uncordon(Answering):
    @route(permission=MAY, verb="cluster.uncordoned", scoped=False)
    @shape(summary="Uncordon a cluster", output=ClusterOutput, refuses=True, example=examples.CLUSTER)
    def post(self, request: Request, cluster_id: UUID) -> HttpResponseBase:
        """It serves again, also after a drain."""
        slug = self.named(cluster_id)
        return self.done(lambda: cluster_standing.uncordon(actor=self.actor, slug=slug, now=self.moment))


class Drain(Answering):
    @route(permission=MAY, verb="cluster.draining", scoped=False)
    @shape(summary="Drain a cluster", output=ClusterOutput, refuses=True, example=examples.CLUSTER)
    def post(self, request: Request, cluster_id: UUID) -> HttpResponseBase:
        """Nothing new starts there and what runs is stopped, with the reason `cluster_draining`; disks stay."""
        slug = self.named(cluster_id)
        return self.done(lambda: cluster_standing.drain(actor=self.actor, slug=slug, now=self.moment))


class Check(Answering):
    @route(permission=MAY, verb="cluster.checked", scoped=False)
    @shape(summary="Look at a cluster now", output=ClusterOutput, refuses=True, example=examples.CLUSTER)
    def post(self, request: Request, cluster_id: UUID) -> HttpResponseBase:
        """As every five minutes: version, what is installed, rights, storage classes. The answer tells its health."""
        slug = self.named(cluster_id)
        cluster_health.look_again(cluster_id=cluster_id, now=self.moment)
        return self.done(lambda: self._checked(slug))

    def _checked(self, slug: str) -> ClusterRow:
        return cluster_health.note_check(actor=self.actor, slug=slug, now=self.moment)


class Credentials(Answering):
    @route(permission=MAY, verb="cluster.credentials_changed", scoped=False)
    @shape(
        summary="Change a cluster's credentials",
        input=CredentialsInput,
        output=ClusterOutput,
        refuses=True,
        example=examples.CLUSTER,
    )
    def put(self, request: Request, cluster_id: UUID) -> HttpResponseBase:
        """The cluster is asked with the new ones first; until it answers to them, the old ones stay.

        Server and authority that are left out are as they were. Refused where they lead to another cluster.
        """
        slug, given = self.named(cluster_id), self.read(CredentialsInput)
        connection = cluster_access.try_credentials(actor=self.actor, slug=slug, given=given)
        return self.done(
            lambda: cluster_access.change_credentials(
                actor=self.actor, slug=slug, connection=connection, now=self.moment
            )
        )


def _registration(asked: NewCluster) -> Registration:
    given = Given(**{each.name: getattr(asked, each.name) for each in fields(Given)})
    connection = cluster_access.connection_from(given)
    return Registration(asked.slug, asked.label or asked.slug, asked.region, connection, asked.storage_classes)
