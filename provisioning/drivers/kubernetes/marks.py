"""How a run looks on its cluster, in a few characters that differ as soon as anything differs that the driver reads of
it. Pure: metadata of objects in, marks out.

Pods and claims count as they are; of what makes the pods its status is left out, which says nothing that they do not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from provisioning.drivers.kubernetes.names import INCARNATION, RECORD, WORKLOAD
from provisioning.drivers.kubernetes.reading import Json, labels_of, number, part, text


@dataclass(slots=True)
class Census:
    """What there is of each workload, kind by kind."""

    traces: dict[UUID, list[str]] = field(default_factory=dict)

    def count_pods(self, pods: Iterable[Json]) -> None:
        for pod in pods:
            self._note(text(labels_of(pod), WORKLOAD), _as_it_is(pod))

    def count_makers(self, makers: Iterable[Json]) -> None:
        for maker in makers:
            self._note(text(labels_of(maker), WORKLOAD), _as_asked_for(maker))

    def count_claims(self, claims: Iterable[Json]) -> None:
        """A claim is of all whose record it keeps."""
        for claim in claims:
            for key in part(claim, "metadata", "annotations"):
                if key.startswith(RECORD):
                    self._note(key.removeprefix(RECORD), _as_it_is(claim))

    def marks(self) -> dict[UUID, str]:
        return {workload_id: _mark(traces) for workload_id, traces in self.traces.items()}

    def _note(self, workload: str, trace: str) -> None:
        try:
            self.traces.setdefault(UUID(workload), []).append(trace)
        except ValueError:  # not ours
            return


def mark_of(pods: Iterable[Json], maker: Json | None, claim: Json | None) -> str:
    """Of one run that was looked at by itself: the same as a census says of it."""
    traces = [_as_it_is(thing) for thing in (*pods, claim) if thing is not None]
    return _mark([*traces, _as_asked_for(maker)] if maker is not None else traces)


def _as_it_is(thing: Json) -> str:
    return f"{text(thing, 'metadata', 'uid')} {text(thing, 'metadata', 'resourceVersion')}"


def _as_asked_for(maker: Json) -> str:
    ending = text(maker, "metadata", "deletionTimestamp")
    run = text(labels_of(maker), INCARNATION)
    return f"{text(maker, 'metadata', 'uid')} {number(maker, 'metadata', 'generation')} {ending} {run}"


def _mark(traces: list[str]) -> str:
    return hashlib.blake2b("\n".join(sorted(traces)).encode(), digest_size=16).hexdigest()
