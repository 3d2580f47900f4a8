"""What a rule says: one frozen type for each kind, each read by its own schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import TypeAlias

from core.types import Json
from tenants.enums import ChangeKind, DataClass, PolicyKind, Resource
from tenants.policy_rules.reading import Reader

_CAPACITY = frozenset({"on_demand", "reserved", "spot"})
_LONGEST = 366 * 86_400


@dataclass(frozen=True, slots=True)
class Regions:
    """Data of a class stays in these regions. A class that is not named is not limited by this rule."""

    by_class: Mapping[str, tuple[str, ...]]

    @staticmethod
    def read(reader: Reader) -> Regions:
        return Regions(reader.words_by("regions", keys=frozenset(DataClass.values)))

    def as_json(self) -> dict[str, Json]:
        return {"regions": {name: [*regions] for name, regions in self.by_class.items()}}


@dataclass(frozen=True, slots=True)
class Images:
    """By pattern of registry and name, or by exact digest. `pinned`: a pattern counts for what names a digest alone."""

    patterns: tuple[str, ...]
    digests: tuple[str, ...] = ()
    pinned: bool = False

    @staticmethod
    def read(reader: Reader) -> Images:
        found = Images(reader.words("patterns"), reader.words("digests"), reader.flag("pinned", default=False))
        if not found.patterns and not found.digests:
            reader.wrong("patterns", "required", "Name at least one registry or digest.")
        for digest in found.digests:
            if not digest.startswith("sha256:") or len(digest) != 71:
                reader.wrong("digests", "malformed", "A digest is sha256: and 64 hexadecimal digits.")
        return found

    def as_json(self) -> dict[str, Json]:
        return {"patterns": [*self.patterns], "digests": [*self.digests], "pinned": self.pinned}

    def allows(self, reference: str) -> bool:
        name, _, digest = reference.partition("@")
        if digest and digest in self.digests:
            return True
        return any(fnmatchcase(name, pattern) for pattern in self.patterns) and (bool(digest) or not self.pinned)


@dataclass(frozen=True, slots=True)
class Accelerators:
    """Only these models; none at all where the list is empty. Work without one is not concerned."""

    models: tuple[str, ...]

    @staticmethod
    def read(reader: Reader) -> Accelerators:
        return Accelerators(reader.words("models"))

    def as_json(self) -> dict[str, Json]:
        return {"models": [*self.models]}


@dataclass(frozen=True, slots=True)
class CapacityKinds:
    kinds: tuple[str, ...]

    @staticmethod
    def read(reader: Reader) -> CapacityKinds:
        found = CapacityKinds(reader.words("kinds", among=_CAPACITY))
        if not found.kinds:
            reader.wrong("kinds", "required", "Name at least one kind of capacity.")
        return found

    def as_json(self) -> dict[str, Json]:
        return {"kinds": [*self.kinds]}


@dataclass(frozen=True, slots=True)
class MaxLifetime:
    """How long a run may last at the most."""

    at_most: timedelta

    @staticmethod
    def read(reader: Reader) -> MaxLifetime:
        return MaxLifetime(_span(reader))

    def as_json(self) -> dict[str, Json]:
        return {"seconds": int(self.at_most.total_seconds())}


@dataclass(frozen=True, slots=True)
class IdleStop:
    """After how long without work a run is stopped, at the latest."""

    after: timedelta

    @staticmethod
    def read(reader: Reader) -> IdleStop:
        return IdleStop(_span(reader))

    def as_json(self) -> dict[str, Json]:
        return {"seconds": int(self.after.total_seconds())}


@dataclass(frozen=True, slots=True)
class ApprovalAbove:
    """More accelerators or a higher price than this needs somebody's word; two people's with `four_eyes`."""

    accelerators: int | None = None
    price_per_hour: Decimal | None = None
    currency: str = ""
    four_eyes: bool = False

    @staticmethod
    def read(reader: Reader) -> ApprovalAbove:
        accelerators = reader.whole("accelerators", least=0, most=1_000_000)
        price = reader.money("price_per_hour")
        if accelerators is None and price is None and not reader.errors:
            reader.wrong("accelerators", "required", "Give a number of accelerators, a price per hour, or both.")
        amount, currency = price if price else (None, "")
        return ApprovalAbove(accelerators, amount, currency, reader.flag("four_eyes", default=False))

    def as_json(self) -> dict[str, Json]:
        price: Json = (
            {"amount": str(self.price_per_hour), "currency": self.currency} if self.price_per_hour is not None else None
        )
        return {"accelerators": self.accelerators, "price_per_hour": price, "four_eyes": self.four_eyes}


@dataclass(frozen=True, slots=True)
class PublicEndpoints:
    """Whether anything may be reached from outside without signing in."""

    allowed: bool = False

    @staticmethod
    def read(reader: Reader) -> PublicEndpoints:
        return PublicEndpoints(reader.flag("allowed", default=False))

    def as_json(self) -> dict[str, Json]:
        return {"allowed": self.allowed}


@dataclass(frozen=True, slots=True)
class Egress:
    """Work reaches these hosts and no others; none at all where the list is empty."""

    hosts: tuple[str, ...]

    @staticmethod
    def read(reader: Reader) -> Egress:
        return Egress(reader.words("hosts"))

    def as_json(self) -> dict[str, Json]:
        return {"hosts": [*self.hosts]}

    def allows(self, host: str) -> bool:
        return any(fnmatchcase(host, pattern) for pattern in self.hosts)


@dataclass(frozen=True, slots=True)
class RequiredLabels:
    """Labels that everything bears; an empty list of values: any value will do."""

    labels: Mapping[str, tuple[str, ...]]

    @staticmethod
    def read(reader: Reader) -> RequiredLabels:
        return RequiredLabels(reader.words_by("labels"))

    def as_json(self) -> dict[str, Json]:
        return {"labels": {name: [*values] for name, values in self.labels.items()}}


_CURRENCY = re.compile(r"[A-Z]{3}")
_NO_CURRENCY = ("currency", "not_meant", "A quota has no currency.")
_NO_RESOURCE = ("resource", "unknown", f"One of {', '.join(Resource.values)}, or accelerators/<model>.")
_OF_QUOTAS_ALONE = ("resource", "not_meant", "Quotas alone are narrowed by what they are of.")
_NEEDS_CURRENCY = ("currency", "required", "Name the currency of the amount by its three letters, such as EUR.")


def _is_resource(word: str) -> bool:
    kind, slash, model = word.partition("/")
    return not word or word in Resource.values or (kind == Resource.ACCELERATORS and bool(slash and model))


@dataclass(frozen=True, slots=True)
class ChangeApproval:
    """A change of quota, price or credit beyond this amount needs somebody's word. `resource` narrows quotas."""

    change: str
    above: Decimal
    currency: str = ""
    resource: str = ""
    four_eyes: bool = False

    @staticmethod
    def read(reader: Reader) -> ChangeApproval:
        change = reader.word("change", among=frozenset(ChangeKind.values))
        above = reader.number("above")
        if change is None or above is None:
            reader.wrong("change", "required", "Say what changes, and above which amount.")
        currency, resource = reader.word("currency") or "", reader.word("resource") or ""
        of_quota = change == ChangeKind.QUOTA
        if of_quota and (currency or not _is_resource(resource)):
            reader.wrong(*_NO_CURRENCY if currency else _NO_RESOURCE)
        if not of_quota and (resource or _CURRENCY.fullmatch(currency) is None):
            reader.wrong(*_OF_QUOTAS_ALONE if resource else _NEEDS_CURRENCY)
        return ChangeApproval(
            change or "",
            above or Decimal(0),
            currency,
            resource,
            reader.flag("four_eyes", default=False),
        )

    def as_json(self) -> dict[str, Json]:
        return {
            "change": self.change,
            "above": str(self.above),
            "currency": self.currency or None,
            "resource": self.resource or None,
            "four_eyes": self.four_eyes,
        }


Terms: TypeAlias = (
    Regions
    | Images
    | Accelerators
    | CapacityKinds
    | MaxLifetime
    | IdleStop
    | ApprovalAbove
    | PublicEndpoints
    | Egress
    | RequiredLabels
    | ChangeApproval
)

_READERS: Mapping[PolicyKind, Callable[[Reader], Terms]] = {
    PolicyKind.REGIONS: Regions.read,
    PolicyKind.IMAGES: Images.read,
    PolicyKind.ACCELERATORS: Accelerators.read,
    PolicyKind.CAPACITY_KINDS: CapacityKinds.read,
    PolicyKind.MAX_LIFETIME: MaxLifetime.read,
    PolicyKind.IDLE_STOP: IdleStop.read,
    PolicyKind.APPROVAL_ABOVE: ApprovalAbove.read,
    PolicyKind.PUBLIC_ENDPOINTS: PublicEndpoints.read,
    PolicyKind.EGRESS: Egress.read,
    PolicyKind.REQUIRED_LABELS: RequiredLabels.read,
    PolicyKind.CHANGE_APPROVAL: ChangeApproval.read,
}


def parse(kind: str, data: Mapping[str, Json]) -> Terms:
    """The terms of a kind of rule. Raises Invalid, naming every field that cannot be meant."""
    reader = Reader(data)
    terms = _READERS[PolicyKind(kind)](reader)
    reader.done()
    return terms


def _span(reader: Reader) -> timedelta:
    seconds = reader.whole("seconds", least=60, most=_LONGEST)
    if seconds is None and not reader.errors:
        reader.wrong("seconds", "required", "Say how long, in seconds.")
    return timedelta(seconds=seconds or 60)
