"""The dry run: what admission says to a launch, and what the launch form shows of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING
from uuid import UUID

from billing.types import Hourly
from core.errors import FieldError, Invalid
from core.types import Actor, ActorKind
from provisioning.admission import decide
from provisioning.durations import duration
from provisioning.enums import CapacityKind, ImageKind, Kind, State
from provisioning.jobs import nonsense as job_nonsense
from provisioning.models import Image, Shape, Volume, Workload
from provisioning.naming import NAME_RULE, free_name, is_label, is_name, is_variable
from provisioning.selectors.catalogue import Prices, active_shapes, cluster_facts, prices_for
from provisioning.selectors.lending import lenders_waiting, with_eta
from provisioning.types import NOTHING, Alternative, Asked, Governed, Verdict, WorkloadSpec
from tenants.enums import Permission, QuotaLevel, Standing
from tenants.permissions import holds
from tenants.selectors import organization_of, quota_book
from tenants.selectors.policies import rules_in_force
from tenants.types import Claim, Ladder, QuotaBook, QuotaLine

if TYPE_CHECKING:
    from tenants.models import Project

NAME_BASE = {Kind.WORKSPACE: "notebook", Kind.JOB: "job", Kind.CLUSTER: "cluster"}
IMAGES: dict[Kind, frozenset[str]] = {
    Kind.WORKSPACE: frozenset({ImageKind.JUPYTERLAB}),
    Kind.CLUSTER: frozenset({ImageKind.RAY, ImageKind.DASK}),
}
"""What each kind runs; a kind that is not named runs in any image."""
NEEDS = {ImageKind.RAY.value: "kuberay", ImageKind.DASK.value: "dask_operator"}
"""What a cluster must have installed for an image of that kind."""
_MOST_NODES = 64
_MOST_VARIABLES, _LONGEST_VALUE, _LARGEST_DISK = 64, 4096, 65_536
_MOST_LABELS, _LONGEST_LABEL = 32, 120


@dataclass(frozen=True, slots=True)
class QuotaShown:
    """One quota beside a launch: what is used, what this launch asks for, what would be left; on what it stands."""

    resource: str
    limit: int
    used: int
    asked: int
    level: QuotaLevel = QuotaLevel.PROJECT
    place: str = ""

    @property
    def left(self) -> int:
        return max(self.limit - self.used, 0)

    @property
    def left_after(self) -> int:
        return self.limit - self.used - self.asked


@dataclass(frozen=True, slots=True)
class Preview:
    """The launch form's live panel. A price is None where something has none; `name` is free, if none was given."""

    verdict: Verdict
    name: str
    running: Hourly | None
    stopped: Hourly | None
    alternatives: tuple[tuple[Alternative, Hourly | None], ...]
    quotas: tuple[QuotaShown, ...]
    simulated: bool
    spot: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """The catalogue's rows that a spec names."""

    shape: Shape
    image: Image
    volume: Volume | None
    prices: Prices


def chosen(actor: Actor, project: Project, spec: WorkloadSpec, now: datetime) -> Chosen:
    """Raises Invalid, naming every field that cannot be meant."""
    errors = list(_nonsense(spec))
    shape = Shape.objects.filter(slug=spec.shape).select_related("region", "accelerator").first()
    image = Image.objects.filter(slug=spec.image).first()
    volume = _kept_volume(actor, project, spec)
    if shape is None:
        errors.append(FieldError("shape", "unknown", f"There is no shape {spec.shape!r}."))
    if image is None:
        errors.append(FieldError("image", "unknown", f"There is no image {spec.image!r}."))
    elif spec.kind in set(Kind) and image.kind not in IMAGES.get(Kind(spec.kind), {image.kind}):
        errors.append(FieldError("image", "wrong_kind", f"{image.label} does not run a {spec.kind}. Choose another."))
    if spec.volume_id is not None and volume is None:
        errors.append(FieldError("volume", "unknown", "There is no such disk to bring back in this project."))
    if errors or shape is None or image is None:
        raise Invalid(errors)
    currency = organization_of(actor).currency
    return Chosen(shape, image, volume, prices_for([shape, *active_shapes()], currency, now))


def judge(
    actor: Actor,
    project: Project,
    spec: WorkloadSpec,
    picked: Chosen,
    *,
    now: datetime,
    owner_id: UUID | None = None,
    held: Claim = NOTHING,
) -> Verdict:
    """What admission says to this launch now, without taking anything. `owner_id`: whose it is, if not the actor's.

    What the platform starts by itself, since it had waited, it starts only for an owner who may still launch there.
    """
    book = quota_book(project, owner_id or actor.id, now=now)
    by = Actor(ActorKind.USER, owner_id, project.organization_id) if actor.is_system and owner_id else actor
    asked = replace(_asked(by, project, spec, picked, book, held), starts_itself=by is not actor)
    return with_eta(decide(asked), book)


def preview(actor: Actor, project: Project, spec: WorkloadSpec, now: datetime) -> Preview:
    """The dry run of a launch: verdict, prices, quotas and a free name, the same for everybody who asks now."""
    picked = chosen(actor, project, spec, now)
    book = quota_book(project, actor.id, now=now)
    verdict = with_eta(decide(_asked(actor, project, spec, picked, book, NOTHING)), book)
    prices, disk = picked.prices, disk_of(spec, picked)
    return Preview(
        verdict=verdict,
        name=spec.name or propose_name(project, spec.kind),
        running=_hourly(prices, _times(prices.of_shape(picked.shape), spec.replicas), _disk_price(prices, disk)),
        stopped=_hourly(prices, _disk_price(prices, disk)),
        alternatives=tuple(
            (each, _hourly(prices, each.shape.whole_price, _disk_price(prices, disk))) for each in verdict.alternatives
        ),
        quotas=_quotas_shown(book, verdict.claim),
        simulated=picked.shape.accelerator_id is not None
        and picked.shape.region.clusters.filter(simulated_accelerators=True).exists(),
        spot=picked.shape.capacity_kind == CapacityKind.SPOT,
    )


def propose_name(project: Project, kind: str) -> str:
    """The first free name of a project for a kind: the same in two tabs."""
    base = NAME_BASE[Kind(kind)]
    taken = Workload.objects.filter(project=project, name__startswith=base).exclude(state=State.DELETED)
    return free_name(base, set(taken.values_list("name", flat=True)))


def disk_of(spec: WorkloadSpec, picked: Chosen) -> int:
    """A disk that is brought back keeps its size."""
    return picked.volume.size_gib if picked.volume else spec.disk_gib


def _asked(
    actor: Actor,
    project: Project,
    spec: WorkloadSpec,
    picked: Chosen,
    book: QuotaBook,
    held: Claim,
) -> Asked:
    prices = picked.prices
    places = cluster_facts()
    here = [each for each in places if each.region == picked.shape.region.slug]
    needed = NEEDS.get(picked.image.kind)
    clusters = tuple(
        each for each in places if picked.image.reference_on(each.driver) and (needed is None or needed in each.offers)
    )
    if picked.volume is not None:
        clusters = tuple(each for each in clusters if each.id == picked.volume.cluster_id)
    return Asked(
        project=project.slug,
        allowed=holds(actor, Permission.LAUNCH_WORKLOAD, project),
        standing_good=project.organization.standing == Standing.GOOD,
        project_open=project.closed_at is None,
        image_active=picked.image.active,
        image_here=not here or any(each in clusters for each in here),
        shape=replace(picked.shape.facts, price_per_hour=prices.of_shape(picked.shape), times=spec.replicas),
        disk_gib=disk_of(spec, picked),
        quotas=book,
        lenders=lenders_waiting(book),
        clusters=clusters,
        others=tuple(
            replace(each.facts, price_per_hour=prices.of_shape(each), times=spec.replicas) for each in active_shapes()
        ),
        priced=prices.of_shape(picked.shape) is not None and prices.disk_gib_hour is not None,
        held=held,
        governed=Governed(
            rules=rules_in_force(),
            data_class=project.data_class,
            image=next((name for each in here if (name := picked.image.reference_on(each.driver))), picked.image.slug),
            currency=prices.currency,
            disk_per_hour=_disk_price(prices, disk_of(spec, picked)) or Fraction(0),
            labels=spec.labels,
            lifetime=duration("MAXIMUM_LIFETIME"),
            idle_after=duration("IDLE_STOP_AFTER"),
        ),
    )


def _nonsense(spec: WorkloadSpec) -> Iterator[FieldError]:
    if spec.kind not in set(Kind):
        yield FieldError("kind", "unknown", f"A kind is one of {', '.join(Kind)}.")
    yield from _nonsense_of_kind(spec)
    if spec.name and not is_name(spec.name):
        yield FieldError("name", "malformed", NAME_RULE)
    if not 1 <= spec.disk_gib <= _LARGEST_DISK:
        yield FieldError("disk_gib", "out_of_range", f"A disk has 1 to {_LARGEST_DISK:,} GiB.")
    yield from _nonsense_of_labels(spec)
    if len(spec.env) > _MOST_VARIABLES:
        yield FieldError("env", "too_many", f"At most {_MOST_VARIABLES} environment variables.")
    for name, value in spec.env.items():
        if not is_variable(name):
            yield FieldError("env", "malformed", f"{name[:40]!r} is not a name of an environment variable.")
        if len(value) > _LONGEST_VALUE or "\0" in value:
            yield FieldError(
                "env", "malformed", f"The value of {name[:40]} is longer than {_LONGEST_VALUE} characters."
            )


def _nonsense_of_labels(spec: WorkloadSpec) -> Iterator[FieldError]:
    if len(spec.labels) > _MOST_LABELS:
        yield FieldError("labels", "too_many", f"At most {_MOST_LABELS} labels.")
    for name, value in spec.labels.items():
        if not is_label(name):
            yield FieldError("labels", "malformed", f"{name[:40]!r} is not a name of a label.")
        if not 1 <= len(value) <= _LONGEST_LABEL or "\0" in value:
            yield FieldError("labels", "malformed", f"The label {name[:40]} has 1 to {_LONGEST_LABEL} characters.")


def _nonsense_of_kind(spec: WorkloadSpec) -> Iterator[FieldError]:
    if (spec.kind == Kind.JOB) != (spec.job is not None):
        missing = spec.job is None
        words = "A job says what it runs." if missing else "Only a job has a command: choose the kind job."
        yield FieldError("job", "missing" if missing else "not_a_job", words)
    if spec.job is not None:
        yield from job_nonsense(spec.job)
    if (spec.kind == Kind.CLUSTER) != (spec.cluster is not None):
        missing = spec.cluster is None
        words = "A cluster says how many nodes it has." if missing else "Only a cluster has nodes: choose that kind."
        yield FieldError("cluster", "missing" if missing else "not_a_cluster", words)
    if spec.cluster is not None and not 1 <= spec.cluster.nodes <= _MOST_NODES:
        yield FieldError("cluster.nodes", "out_of_range", f"A cluster has 1 to {_MOST_NODES} nodes.")


def _kept_volume(actor: Actor, project: Project, spec: WorkloadSpec) -> Volume | None:
    """A disk holds a person's files: its owner alone brings it back."""
    if spec.volume_id is None:
        return None
    return Volume.objects.filter(pk=spec.volume_id, project=project, owner_id=actor.person_id).first()


def _hourly(prices: Prices, *parts: Fraction | None) -> Hourly | None:
    known = [part for part in parts if part is not None]
    return Hourly(sum(known, Fraction(0)), prices.currency) if len(known) == len(parts) else None


def _times(price: Fraction | None, replicas: int) -> Fraction | None:
    return None if price is None else price * replicas


def _disk_price(prices: Prices, disk_gib: int) -> Fraction | None:
    return None if prices.disk_gib_hour is None else prices.disk_gib_hour * disk_gib


def _quotas_shown(book: QuotaBook, claim: Claim) -> tuple[QuotaShown, ...]:
    """The project's quotas, and of those above it, and the person's own, the ones that bind sooner."""
    asked = claim.as_dict()
    return tuple(
        QuotaShown(line.resource, line.limit, line.used, asked[name], line.level, line.place)
        for name in sorted(asked)
        for line in _binding(book.ladders.get(name, ()))
    )


def _binding(ladder: Ladder) -> list[QuotaLine]:
    own = [line for line in ladder if line.level is QuotaLevel.PROJECT]
    least = min((line.left for line in own), default=None)
    return own + [line for line in ladder if line not in own and (least is None or line.left < least)]
