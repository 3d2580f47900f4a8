"""The sweep over the ground of projects: the same on every cluster, proven and kept."""

from __future__ import annotations

import structlog

from provisioning.drivers.base import DriverUnavailable
from provisioning.drivers.ground import KeepsGround
from provisioning.models import Cluster
from provisioning.reconciler.loop import Clock, Drivers
from provisioning.selectors.specs import place_of
from provisioning.services import cluster_ground

log = structlog.get_logger(__name__)


def sweep_grounds(*, drivers: Drivers, clock: Clock) -> int:
    """Each cluster by itself: one that does not answer keeps what was last proven, and when. Returns the alarms."""
    alarms = 0
    for cluster in Cluster.objects.filter(active=True):
        try:
            driver = drivers(place_of(cluster))
            if not isinstance(driver, KeepsGround):
                continue
            began = clock()
            proof = driver.keep_ground()
            raised = cluster_ground.take_in(cluster_id=cluster.pk, proof=proof, now=began)
            if raised:
                log.warning("ground_drifted", cluster=cluster.slug, drifts=len(proof.drifts))
            alarms += raised
        except DriverUnavailable as error:
            log.warning("ground_unknown", cluster=cluster.slug, error=str(error))
        except Exception:
            log.exception("ground_failed", cluster=cluster.slug)
    return alarms
