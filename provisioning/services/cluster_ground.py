"""What a look at the ground of a cluster's projects found, on record."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from core import acts, audit, scope
from core.acts import Source, SourceKind
from core.types import Json, system_actor
from provisioning.drivers.ground import GroundProof
from provisioning.enums import Drifted
from provisioning.models import Cluster
from provisioning.services.clusters import ref_of

MOST_SHOWN: Final = 50


def take_in(*, cluster_id: UUID, proof: GroundProof, now: datetime) -> bool:
    """Write down what was found. An alarm is raised for what was put right, and once for what is another's and stays.

    Returns whether one was raised.
    """
    with acts.begin(Source(SourceKind.SYSTEM)), scope.of_platform():
        cluster = Cluster.objects.select_for_update(no_key=True).filter(pk=cluster_id).first()
        if cluster is None or (cluster.ground_at is not None and now < cluster.ground_at):
            return False
        mended: list[Json] = [drift.as_json() for drift in proof.drifts if drift.how is not Drifted.FOREIGN]
        foreign: list[Json] = [drift.as_json() for drift in proof.drifts if drift.how is Drifted.FOREIGN]
        before = dict(cluster.ground)
        last = {"at": now.isoformat(), "things": mended[:MOST_SHOWN]} if mended else before.get("mended")
        cluster.ground = {"namespaces": proof.namespaces, "mended": last, "foreign": foreign[:MOST_SHOWN]}
        cluster.ground_at = now
        cluster.save(update_fields=["ground", "ground_at"])
        alarming = bool(mended) or cluster.ground["foreign"] != before.get("foreign", [])
        if alarming:
            found: dict[str, Json] = {"mended": mended[:MOST_SHOWN], "foreign": cluster.ground["foreign"]}
            actor = system_actor("ground sweep", None)
            audit.record(actor, "cluster.ground_drifted", ref_of(cluster), now=now, after=found)
    return alarming
