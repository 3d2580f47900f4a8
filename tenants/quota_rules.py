"""The arithmetic of quotas: what a claim is refused for, and what siblings may borrow from one another. Pure.

Above its own limit a place borrows: at most its `borrow_limit`, and only what its siblings leave unused and lend. What
a lender keeps (its limit less its `lend_limit`) none of its siblings ever uses. Nothing passes the limit of the
organisation, or of a team and what the team may borrow. What was lent is not taken here from what runs: the lender is
told who has it, and may wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from core.types import Reason
from tenants.enums import QuotaLevel
from tenants.types import Ladder, Pool, QuotaLine, unit_of

OVER, LENT, KEPT, NOTHING_TO_BORROW = "over_quota", "lent_out", "kept_for_others", "nothing_to_borrow"
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Book:
    """The quotas that one place's claims meet, by resource."""

    ladders: Mapping[str, Ladder]

    def shortfalls(self, asked: Mapping[str, int]) -> tuple[Reason, ...]:
        return tuple(
            reason
            for resource, amount in sorted(asked.items())
            for reason in refusals(self.ladders.get(resource, ()), amount)
        )


def refusals(ladder: Ladder, asked: int) -> tuple[Reason, ...]:
    """Why this much more of one resource would be refused: one reason for each level that says no, from above."""
    if asked <= 0:
        return ()
    found = {line.level: reason for line in ladder if (reason := _refusal(line, asked)) is not None}
    for parent, line in pairwise(ladder):
        reason = found.get(line.level)
        if reason is None or parent.level not in found:
            continue
        if reason.code == LENT:  # the one that holds it is to blame, not the size of the whole
            del found[parent.level]
        elif reason.code in (KEPT, NOTHING_TO_BORROW):
            del found[line.level]
    return tuple(found.values())


def pool_of(line: QuotaLine, siblings: Sequence[QuotaLine], parent: QuotaLine | None) -> Pool:
    """What a quota shares with its siblings.

    Together they may use the parent's limit (and what the parent may borrow); without a parent the sum of their own
    limits. There, what stands above a limit that was lowered is nobody's loan.
    """
    if parent is None:
        all_ = (line, *siblings)
        left = sum(each.limit - min(each.used, each.limit + each.borrow_limit) for each in all_)
    else:
        left = parent.limit + parent.borrow_limit - parent.used
    borrowers = [(each.place, each.borrowed) for each in siblings if each.borrowed and each.borrow_limit]
    return Pool(
        left=left,
        kept=sum(_kept(each) for each in siblings),
        borrowers=tuple(sorted(borrowers, key=lambda pair: (-pair[1], pair[0]))),
        around=frozenset((str(each.level), each.place) for each in siblings),
    )


def with_pools(ladder: Ladder, siblings: Iterable[tuple[QuotaLevel, Sequence[QuotaLine]]]) -> Ladder:
    """A ladder whose lines know what they share. `siblings`: by level, where somebody may borrow."""
    around = dict(siblings)
    lines: list[QuotaLine] = []
    for line in ladder:
        parent = lines[-1] if lines else None
        known = around.get(line.level)
        lines.append(line if known is None else replace(line, pool=pool_of(line, known, parent)))
    return tuple(lines)


def limit_at(limit: int, raised_until: datetime | None, falls_to: int | None, now: datetime) -> int:
    """A temporary raise ends at its instant, whether or not a sweep has come by."""
    return falls_to if falls_to is not None and raised_until is not None and now >= raised_until else limit


def reaches(bounds: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The strictest of the bounds of each resource."""
    found: dict[str, int] = {}
    for resource, bound in bounds:
        found[resource] = min(found.get(resource, bound), bound)
    return found


def most_of(resource: str, bounds: Mapping[str, int]) -> int | None:
    """How much a place can hold under these; None: no limit. What bounds all accelerators bounds each model of them."""
    whole = resource.partition("/")[0]
    return min((bounds[name] for name in (resource, whole) if name in bounds), default=None)


def _refusal(line: QuotaLine, asked: int) -> Reason | None:
    after = line.used + asked
    most = line.limit + line.borrow_limit
    if after > most:
        return _over(line, asked, after - most)
    pool = line.pool
    if pool is None or asked <= pool.left - pool.kept:
        return None
    if after > line.limit:
        return _nothing_to_borrow(line, asked, pool)
    return (
        _lent_out(line, asked, pool) if 0 < asked - pool.left + pool.kept <= pool.lent else _kept_for(line, asked, pool)
    )


def _over(line: QuotaLine, asked: int, over: int) -> Reason:
    may = f" + {line.borrow_limit} to borrow" if line.borrow_limit else ""
    message = f"{over} {unit_of(line.resource, over)} over ({line.used} used + {asked} asked > {line.limit}{may})."
    return _reason(OVER, _of_place(line, message), line, asked)


def _lent_out(line: QuotaLine, asked: int, pool: Pool) -> Reason:
    named = ", ".join(f"{place} ({amount})" for place, amount in pool.borrowers[:_NAMED])
    more = f" and {len(pool.borrowers) - _NAMED} more" if len(pool.borrowers) > _NAMED else ""
    message = (
        f"{asked} {unit_of(line.resource, asked)} asked, within the limit of {line.limit},"
        f" but {pool.lent} {'is' if pool.lent == 1 else 'are'} lent to {named}{more}; {_free(pool)} free now."
    )
    return _reason(LENT, _of_place(line, message), line, asked)


def _kept_for(line: QuotaLine, asked: int, pool: Pool) -> Reason:
    kept = f"{pool.kept} {'is' if pool.kept == 1 else 'are'} kept for others."
    message = f"{asked} {unit_of(line.resource, asked)} asked, {_free(pool)} free: {kept}"
    return _reason(KEPT, _of_place(line, message), line, asked)


def _nothing_to_borrow(line: QuotaLine, asked: int, pool: Pool) -> Reason:
    more = min(asked, line.used + asked - line.limit)
    lent = max(_free(pool) - line.left, 0)
    message = (
        f"{more} {unit_of(line.resource, more)} above the limit ({line.used} used + {asked} asked > {line.limit}),"
        f" and the others leave {lent} to borrow."
    )
    return _reason(NOTHING_TO_BORROW, _of_place(line, message), line, asked)


def _free(pool: Pool) -> int:
    return max(pool.left - pool.kept, 0)


def _reason(code: str, message: str, line: QuotaLine, asked: int) -> Reason:
    return Reason(
        code=code,
        message=message,
        resource=line.resource,
        asked=asked,
        used=line.used,
        limit=line.limit,
        ask=_whom_to_ask(line),
        level=str(line.level),
    )


def _of_place(line: QuotaLine, message: str) -> str:
    """A project's own quota needs no naming: the launch is in it."""
    match line.level:
        case QuotaLevel.ORGANIZATION:
            return f"Organisation {line.place}: {message}"
        case QuotaLevel.TEAM:
            return f"Team {line.place}: {message}"
        case QuotaLevel.USER:
            return f"Quota of {line.place}: {message}"
    return message


def _whom_to_ask(line: QuotaLine) -> str:
    match line.level:
        case QuotaLevel.ORGANIZATION:
            return f"the platform's administrator, who sets the quotas of the organisation {line.place}"
        case QuotaLevel.TEAM:
            return f"an owner of the organisation, who sets the quotas of the team {line.place}"
        case QuotaLevel.USER:
            return f"an owner of the organisation, who sets the quotas of {line.place}"
    return f"an owner of the organisation, who sets the quotas of {line.place}"


def _kept(line: QuotaLine) -> int:
    """What of its limit it does not lend and does not use."""
    lends = line.limit if line.lend_limit is None else min(line.lend_limit, line.limit)
    return max(line.limit - lends - line.used, 0)
