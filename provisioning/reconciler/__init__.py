"""Makes the world match the wishes: claim, act, apply.

`policy` decides (pure), `claims` takes and gives leases, `applying` writes, `queueing` admits to a cluster.
"""

from provisioning.reconciler.loop import finish_ending, reconcile

__all__ = ["finish_ending", "reconcile"]
