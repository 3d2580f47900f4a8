"""Admission: named checks, all of them run before anything is created. Pure; the launch form asks on every change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from core.types import Reason
from provisioning.enums import ClusterStanding, Starts, Waits
from provisioning.types import Alternative, Asked, ClusterFacts, Governed, ShapeFacts, StopLimits, Verdict
from tenants.policy_rules import Decision, Subject
from tenants.policy_rules import decide as decide_policies
from tenants.types import Claim, unit_of

Check = Callable[[Asked], tuple[Reason, ...]]

_MOST_ALTERNATIVES = 4


def decide(asked: Asked) -> Verdict:
    """Every failing check at once, with its numbers; when the workload would start; what would start now instead.

    Over quota is refused; what others have borrowed of its own share is waited for. Over capacity waits, unless no
    cluster could ever hold it.
    """
    failing = tuple(reason for _, check in CHECKS for reason in check(asked))
    lent = tuple(reason for reason in failing if reason.code == Waits.LENT_OUT)
    reasons = tuple(reason for reason in failing if reason.code != Waits.LENT_OUT)
    ruling = ruling_on(asked, asked.shape)
    cluster = best_cluster(asked.shape, asked.clusters)
    starts = _starts(asked.shape, cluster, lent)
    capacity_waits = waiting_reason(asked.shape, cluster) if cluster and starts is Starts.LATER else None
    return Verdict(
        reasons=reasons,
        starts=starts,
        claim=asked.shape.claim(asked.disk_gib),
        cluster_id=cluster.id if cluster else None,
        waits=lent[0] if lent else capacity_waits,
        alternatives=_alternatives(asked) if reasons or ruling.approvals or starts is not Starts.NOW else (),
        approvals=tuple(need.reason for need in ruling.approvals),
        deciders=ruling.deciders,
        asking=ruling.asking_rules,
        warnings=tuple(found.reason for found in ruling.observed),
        limits=limits_of(ruling, asked.governed),
        lent=lent,
    )


def permission(asked: Asked) -> tuple[Reason, ...]:
    if asked.allowed:
        return ()
    who = "Its owner may not launch workloads any more" if asked.starts_itself else "You may not launch workloads"
    message = f"{who} in {asked.project}."
    return (Reason(code="permission_denied", message=message, ask="an owner of the organisation"),)


def policy(asked: Asked) -> tuple[Reason, ...]:
    reasons = []
    if not asked.standing_good:
        reasons.append(
            Reason(
                code="organization_suspended",
                message="The organisation is suspended: nothing new starts.",
                ask="the organisation's billing contact",
            )
        )
    if not asked.project_open:
        message = f"{asked.project} is closed: nothing is launched in it any more."
        reasons.append(Reason(code="project_closed", message=message))
    if not asked.image_active:
        reasons.append(Reason(code="image_inactive", message="This image is no longer offered. Choose another."))
    if not asked.image_here:
        message = f"No cluster in {asked.shape.region} runs this image. Choose another image, or a shape elsewhere."
        reasons.append(Reason(code="image_elsewhere", message=message))
    if not asked.shape.active:
        reasons.append(
            Reason(
                code="shape_inactive", message=f"The shape {asked.shape.label} is no longer offered. Choose another."
            )
        )
    if not asked.priced:
        message = f"{asked.shape.label} has no price in your currency yet."
        reasons.append(Reason(code="not_priced", message=message, ask="the platform's administrator"))
    return (*reasons, *(found.reason for found in ruling_on(asked, asked.shape).denials))


def ruling_on(asked: Asked, shape: ShapeFacts) -> Decision:
    """What the policies say of this launch on that shape."""
    given = asked.governed
    price = shape.whole_price
    subject = Subject(
        project=asked.project,
        data_class=given.data_class,
        region=shape.region,
        image=given.image,
        accelerator=shape.accelerator,
        accelerator_count=shape.accelerators,
        capacity_kind=shape.capacity_kind,
        price_per_hour=None if price is None else price + given.disk_per_hour,
        currency=given.currency,
        labels=given.labels,
        lifetime=given.lifetime,
        idle_after=given.idle_after,
    )
    return decide_policies(given.rules, subject)


def limits_of(ruling: Decision, given: Governed) -> StopLimits:
    """The strictest of the installation's limits and the policies'; a policy is named where it is the stricter."""
    life, idle = ruling.max_lifetime, ruling.idle_after
    if life is not None and given.lifetime is not None and life.at_most >= given.lifetime:
        life = None
    if idle is not None and given.idle_after is not None and idle.at_most >= given.idle_after:
        idle = None
    return StopLimits(
        max_lifetime=life.at_most if life else None,
        lifetime_rule=life.rule.words if life else "",
        idle_after=idle.at_most if idle else None,
        idle_rule=idle.rule.words if idle else "",
    )


def quota(asked: Asked) -> tuple[Reason, ...]:
    """One reason for each resource and each level (organisation, team, project, person) that says no."""
    more = _more(asked.shape.claim(asked.disk_gib), asked.held)
    found = asked.quotas.shortfalls(more)
    known = {(reason.resource, reason.level) for reason in found}
    return (*found, *(each for each in _wanted_back(asked, more) if (each.resource, each.level) not in known))


def _wanted_back(asked: Asked, more: dict[str, int]) -> Iterator[Reason]:
    """What is above the own limit while somebody waits for the same: what comes back is theirs."""
    for resource, amount in sorted(more.items()):
        for line in asked.quotas.ladders.get(resource, ()):
            around = line.pool.around if line.pool else frozenset()
            lender = next((e for e in asked.lenders if e.resource == resource and (e.level, e.place) in around), None)
            if lender is None or amount <= 0 or line.used + amount <= line.limit:
                continue
            over = min(amount, line.used + amount - line.limit)
            message = (
                f"{over} {unit_of(resource, over)} above the limit ({line.used} used + {amount} asked > {line.limit}),"
                f" and {lender.place} waits for what it has lent."
            )
            yield Reason("nothing_to_borrow", message, resource, amount, line.used, line.limit, level=str(line.level))


def capacity(asked: Asked) -> tuple[Reason, ...]:
    """Refuse only what can never start: that no cluster of the region is large enough for."""
    if best_cluster(asked.shape, asked.clusters) is not None:
        return ()
    shape = asked.shape
    if (shut := _shut(shape, asked.clusters)) is not None:
        return (shut,)
    there = [cluster for cluster in asked.clusters if cluster.region == shape.region and cluster.healthy]
    if not there:
        return (Reason(code="never_fits", message=f"No cluster in {shape.region} takes workloads now."),)
    largest = max(there, key=lambda cluster: _headroom(shape, cluster))
    resource, amount = next(
        (name, amount) for name, amount in shape.resources().items() if amount > largest.capacity.get(name, 0)
    )
    most = largest.capacity.get(resource, 0)
    return (
        Reason(
            code="never_fits",
            message=f"{amount} {unit_of(resource, amount)} asked, {most} in the largest cluster of {shape.region}.",
            resource=resource,
            asked=amount,
            limit=most,
        ),
    )


def _shut(shape: ShapeFacts, clusters: tuple[ClusterFacts, ...]) -> Reason | None:
    """Why a cluster that would be large enough takes nothing; of several, one that may come back."""
    could = [each for each in clusters if each.standing != ClusterStanding.SERVING and _could_hold(shape, each)]
    could.sort(key=lambda each: (each.standing == ClusterStanding.REMOVED, each.slug))
    return standing_reason(could[0]) if could else None


def standing_reason(cluster: ClusterFacts) -> Reason:
    """Why a cluster that does not serve takes nothing new."""
    if cluster.standing == ClusterStanding.REMOVED:
        message = f"The cluster {cluster.slug} was removed: nothing starts there any more."
    else:
        message = f"The cluster {cluster.slug} is {cluster.standing} and takes nothing new for now."
    return Reason(code=f"cluster_{cluster.standing}", message=message, ask="the platform team")


CHECKS: tuple[tuple[str, Check], ...] = (
    ("permission", permission),
    ("policy", policy),
    ("quota", quota),
    ("capacity", capacity),
)


def best_cluster(shape: ShapeFacts, clusters: tuple[ClusterFacts, ...]) -> ClusterFacts | None:
    """A cluster where the shape fits now, else one where it fits some time; None where it never does."""
    able = [cluster for cluster in clusters if _ever_fits(shape, cluster)]
    able.sort(key=lambda cluster: (not fits_now(shape, cluster), cluster.slug))
    return able[0] if able else None


def fits_now(shape: ShapeFacts, cluster: ClusterFacts) -> bool:
    return _ever_fits(shape, cluster) and all(
        amount <= cluster.free(name) for name, amount in shape.resources().items()
    )


def waiting_reason(shape: ShapeFacts, cluster: ClusterFacts, *, ahead: int = 0) -> Reason:
    """Why a workload of this shape waits in the queue of this cluster."""
    short = [(name, amount) for name, amount in shape.resources().items() if amount > cluster.free(name)]
    if not short:
        return Reason(
            code="waiting_in_queue",
            message=f"Waiting: {ahead} {'workload is' if ahead == 1 else 'workloads are'} ahead of it.",
            used=ahead,
        )
    resource, amount = max(short)
    can = cluster.schedulable(resource)
    if amount > can:
        return Reason(
            code="waiting_for_capacity",
            message=f"Waiting: {amount} requested, {can} schedulable in this pool"
            f" ({unit_of(resource, 2)} of {cluster.slug}).",
            resource=resource,
            asked=amount,
            used=cluster.used.get(resource, 0),
            limit=can,
        )
    return Reason(
        code="waiting_for_capacity",
        message=f"Waiting: {amount} {unit_of(resource, amount)} requested, {cluster.free(resource)} free"
        f" of {cluster.capacity.get(resource, 0)} in {cluster.slug}.",
        resource=resource,
        asked=amount,
        used=cluster.used.get(resource, 0),
        limit=cluster.capacity.get(resource, 0),
    )


def _starts(shape: ShapeFacts, cluster: ClusterFacts | None, lent: tuple[Reason, ...]) -> Starts:
    if cluster is None:
        return Starts.NEVER
    return Starts.NOW if fits_now(shape, cluster) and not lent else Starts.LATER


def _alternatives(asked: Asked) -> tuple[Alternative, ...]:
    """Other shapes of the region that fit policy, quota and capacity now, nearest to what was asked first."""
    fitting = [
        shape
        for shape in asked.others
        if shape.slug != asked.shape.slug
        and shape.active
        and not quota(replace(asked, shape=shape))
        and any(fits_now(shape, cluster) for cluster in asked.clusters)
        and not (ruling := ruling_on(asked, shape)).denied
        and not ruling.approvals
    ]
    fitting.sort(key=lambda shape: (_distance(asked.shape, shape), shape.slug))
    return tuple(Alternative(shape, _difference(asked.shape, shape)) for shape in fitting[:_MOST_ALTERNATIVES])


def _distance(wanted: ShapeFacts, other: ShapeFacts) -> tuple[bool, int, int]:
    return (
        other.accelerator != wanted.accelerator,
        abs(other.accelerator_count - wanted.accelerator_count),
        abs(other.vcpus - wanted.vcpus),
    )


def _difference(wanted: ShapeFacts, other: ShapeFacts) -> Fraction | None:
    if wanted.whole_price is None or other.whole_price is None:
        return None
    return other.whole_price - wanted.whole_price


def _more(claim: Claim, held: Claim) -> dict[str, int]:
    holding = held.as_dict()
    return {resource: amount - holding.get(resource, 0) for resource, amount in claim.amounts}


def _ever_fits(shape: ShapeFacts, cluster: ClusterFacts) -> bool:
    return cluster.healthy and _could_hold(shape, cluster)


def _could_hold(shape: ShapeFacts, cluster: ClusterFacts) -> bool:
    return cluster.region == shape.region and all(
        amount <= cluster.capacity.get(name, 0) for name, amount in shape.resources().items()
    )


def _headroom(shape: ShapeFacts, cluster: ClusterFacts) -> int:
    return sum(amount <= cluster.capacity.get(name, 0) for name, amount in shape.resources().items())
