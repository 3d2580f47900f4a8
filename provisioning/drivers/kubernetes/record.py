"""What became of a workload, as an annotation of its volume's claim: it outlives every pod, and goes with the volume.

It is replaced as a whole and only by whoever has read its last version, so that of two processes one decides.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from provisioning.drivers.base import Observation, Phase, Reason
from provisioning.drivers.kubernetes.reading import Json, instant, number, part, text, words

MOST_MESSAGE: Final = 1_000
MOST_LINE: Final = 400


class Stage(StrEnum):
    LIVE = "live"  # started, and not asked to end
    ENDING = "ending"  # ends, or was found ended; capacity may still be held
    ENDED = "ended"  # nothing of it is left on the cluster


@dataclass(frozen=True, slots=True)
class Record:
    """`pod` is the uid of a pod that this run had. `alive_at`: the last instant at which it certainly lived."""

    incarnation: str
    stage: Stage = Stage.LIVE
    pod: str = ""
    served: bool = False
    started_at: datetime | None = None
    alive_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: Phase = Phase.STOPPED
    reason: Reason | None = None
    tail: tuple[str, ...] = ()
    acknowledged: bool = False
    absent: bool = False
    exit_code: int | None = None

    def observation(self) -> Observation:
        """Of a run that has ended."""
        spoke = self.outcome in (Phase.FAILED, Phase.SUCCEEDED) and not self.absent
        return Observation(
            phase=Phase.ABSENT if self.absent else self.outcome,
            started_at=self.started_at,
            ended_at=self.ended_at,
            reason=self.reason,
            log_tail=self.tail if spoke else (),
            incarnation=self.incarnation,
            exit_code=self.exit_code,
        )


def dumped(record: Record) -> str:
    return json.dumps(
        {
            "incarnation": record.incarnation,
            "stage": record.stage,
            "pod": record.pod,
            "served": record.served,
            "started_at": _written(record.started_at),
            "alive_at": _written(record.alive_at),
            "ended_at": _written(record.ended_at),
            "outcome": record.outcome,
            "reason": record.reason and {"code": record.reason.code, "message": record.reason.message[:MOST_MESSAGE]},
            "tail": [line[:MOST_LINE] for line in record.tail],
            "acknowledged": record.acknowledged,
            "absent": record.absent,
            "exit_code": record.exit_code,
        }
    )


def loaded(written: str) -> Record | None:
    """None for a text that is no record: somebody else's hand was in it."""
    try:
        found = part({"it": json.loads(written)}, "it")
        reason = part(found, "reason")
        return Record(
            incarnation=text(found, "incarnation"),
            stage=Stage(text(found, "stage")),
            pod=text(found, "pod"),
            served=found.get("served") is True,
            started_at=instant(found, "started_at"),
            alive_at=instant(found, "alive_at"),
            ended_at=instant(found, "ended_at"),
            outcome=Phase(text(found, "outcome")),
            reason=Reason(text(reason, "code"), text(reason, "message")) if reason else None,
            tail=tuple(words(found, "tail")),
            acknowledged=found.get("acknowledged") is True,
            absent=found.get("absent") is True,
            exit_code=number(found, "exit_code") if found.get("exit_code") is not None else None,
        )
    except ValueError:
        return None


def in_claim(claim: Json | None, key: str) -> Record | None:
    written = text(claim, "metadata", "annotations", key)
    return loaded(written) if written else None


def _written(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat()
