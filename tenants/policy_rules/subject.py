"""What a policy looks at: work or data, and where it would go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Subject:
    """One launch, endpoint or data set, and the place asked for it. None or empty: there is nothing of that kind.

    `image`: the reference, with its digest where it has one. `price_per_hour` is exact, in `currency`. `lifetime` and
    `idle_after`: when it would be stopped if no policy said otherwise.
    """

    project: str
    data_class: str
    region: str | None = None
    image: str | None = None
    accelerator: str | None = None
    accelerator_count: int = 0
    capacity_kind: str | None = None
    price_per_hour: Fraction | None = None
    currency: str = ""
    public: bool = False
    egress: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    lifetime: timedelta | None = None
    idle_after: timedelta | None = None
