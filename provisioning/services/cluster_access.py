"""How a cluster is reached: what a person gives, the look before anything is stored, other credentials later.

What asks the network is called outside any transaction, in the order: `connection_from`, a look, the act that stores.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from django.db import transaction

from core import audit, scope
from core.errors import Conflict, FieldError, Invalid, NotFound, Refused
from core.queue import enqueue_on_commit
from core.types import Actor, Json, Reason
from provisioning.drivers.base import DriverUnavailable, TellsNodes
from provisioning.drivers.kubernetes.kubeconfig import MOST_BYTES, Unusable, connection_of, parse_kubeconfig
from provisioning.drivers.places import Connection, Place
from provisioning.drivers.registry import driver_at
from provisioning.enums import TaskName
from provisioning.models import Cluster, ClusterAccess, Node
from provisioning.services.cluster_health import NO_STORAGE_CLASS, Finding, look
from provisioning.services.clusters import KUBERNETES, Registration, locked_cluster, problems_of, ref_of
from tenants.enums import PlatformPermission
from tenants.permissions import authorize_platform

MOST_UPLOADED: Final = MOST_BYTES
BEARABLE: Final = frozenset({NO_STORAGE_CLASS})
"""What may be wanting while a cluster is taken in: it is mended on the cluster, and its health says so until then."""


@dataclass(frozen=True, slots=True)
class Given:
    """A kubeconfig, or single fields; PEM texts. What is given is never shown again."""

    kubeconfig: str = field(default="", repr=False)
    context: str = ""
    server: str = ""
    ca_pem: str = ""
    server_name: str = ""
    token: str = field(default="", repr=False)
    client_certificate_pem: str = ""
    client_key_pem: str = field(default="", repr=False)

    @property
    def fields(self) -> dict[str, str]:
        return {
            "server": self.server,
            "ca_pem": self.ca_pem,
            "server_name": self.server_name,
            "token": self.token.strip(),
            "client_certificate_pem": self.client_certificate_pem,
            "client_key_pem": self.client_key_pem,
        }


def connection_from(given: Given) -> Connection:
    """Raises Invalid, which says what to do."""
    try:
        if not given.kubeconfig.strip():
            return connection_of(**given.fields)
        if any(given.fields.values()):
            raise Invalid([FieldError("kubeconfig", "given_twice", "Give a kubeconfig or single fields, one of them.")])
        return parse_kubeconfig(given.kubeconfig, context=given.context)
    except Unusable as error:
        where = "kubeconfig" if given.kubeconfig.strip() else "server"
        raise Invalid([FieldError(where, "unusable", str(error))]) from None


def text_of(upload: bytes) -> str:
    """A file that somebody gave, as text. Raises Invalid."""
    try:
        return upload.decode()
    except UnicodeDecodeError:
        raise Invalid([FieldError("kubeconfig", "unusable", "The file is no text, so it is no kubeconfig.")]) from None


def examine(*, actor: Actor, registration: Registration) -> tuple[Finding, list[FieldError]]:
    """All that is wanting before it is taken in: on the cluster, and in what was said of it. Stores nothing."""
    authorize_platform(actor, PlatformPermission.OPERATE_FLEET)
    with scope.of_platform():
        problems = problems_of(registration)
        if Cluster.objects.filter(slug=registration.slug).exists():
            problems.append(FieldError("slug", "slug_taken", f"There is a cluster {registration.slug} already."))
    classes = tuple(sorted(registration.storage_classes.items()))
    return look(Place(KUBERNETES, connection=registration.connection, storage_classes=classes), driver_at), problems


def demand(*, actor: Actor, registration: Registration) -> Finding:
    """The same, where it is to be stored next. Raises Invalid, and Refused with everything that the cluster lacks."""
    finding, problems = examine(actor=actor, registration=registration)
    if problems:
        raise Invalid(problems)
    _refuse_wanting(finding, None)
    return finding


def try_credentials(*, actor: Actor, slug: str, given: Given) -> Connection:
    """Ask the cluster with other credentials; those it has stay as they are. What is not given is as it was.

    Raises Invalid; Refused where the cluster does not answer to them or lets them do too little; Conflict where they
    lead to another cluster.
    """
    authorize_platform(actor, PlatformPermission.OPERATE_FLEET)
    with scope.of_platform():
        access = ClusterAccess.objects.filter(cluster__slug=slug).select_related("cluster").first()
        if access is None:
            raise NotFound("cluster", slug)
        known = set(Node.objects.filter(cluster=access.cluster, gone_at=None).values_list("uid", flat=True))
    connection = connection_from(_completed(given, access))
    classes = tuple(sorted(access.storage_classes.items()))
    place = Place(KUBERNETES, connection=connection, storage_classes=classes)
    _refuse_wanting(look(place, driver_at), access.cluster)
    if known and known.isdisjoint(_nodes_at(place)):
        message = f"These lead to another cluster: it has none of the {len(known)} nodes of {slug}."
        raise Conflict(message, code="another_cluster")
    return connection


@transaction.atomic
def change_credentials(*, actor: Actor, slug: str, connection: Connection, now: datetime) -> Cluster:
    """Keep credentials that were tried, encrypted, and forget the former. In the platform's scope."""
    cluster = locked_cluster(actor, slug)
    access = ClusterAccess.objects.select_for_update().get(cluster=cluster)
    before: dict[str, Json] = {"server": access.server, "changed_at": access.changed_at.isoformat()}
    access.connection, access.changed_at = connection, now
    access.save()
    after: dict[str, Json] = {"server": access.server, "changed_at": now.isoformat()}
    audit.record(actor, "cluster.credentials_changed", ref_of(cluster), now=now, before=before, after=after)
    enqueue_on_commit(TaskName.CHECK_CLUSTER, cluster_id=cluster.pk)
    return cluster


def _completed(given: Given, access: ClusterAccess) -> Given:
    """Where it is and who signed its certificate may be left out with single fields."""
    if given.kubeconfig.strip():
        return given
    return replace(
        given,
        server=given.server or access.server,
        ca_pem=given.ca_pem or ("" if given.server else access.ca_pem),
        server_name=given.server_name or ("" if given.server else access.server_name),
    )


def _nodes_at(place: Place) -> set[str]:
    driver = driver_at(place)
    try:
        return {node.uid for node in driver.nodes()} if isinstance(driver, TellsNodes) else set()
    except DriverUnavailable as error:
        raise Refused([Reason("no_answer", str(error))]) from error


def _refuse_wanting(finding: Finding, cluster: Cluster | None) -> None:
    wanting = [reason for reason in finding.reasons if reason.code not in BEARABLE]
    if wanting:
        raise Refused(wanting, ref=ref_of(cluster) if cluster else None)
