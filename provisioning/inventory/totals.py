"""What several nodes have together, by the names that shapes and quotas use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from provisioning.inventory.nodes import NodeFacts

Amounts: TypeAlias = dict[str, int]
GIB = 1024**3


def whole(nodes: Iterable[NodeFacts]) -> Amounts:
    """All there is, healthy or not: `{"vcpus": 64, "memory_gib": 512, "accelerators/H100": 8}`.

    Of each node only whole vCPUs and GiB count: no workload spans two nodes to use up their rests.
    """
    return _sum(pair for node in nodes for pair in _all(node))


def in_service(nodes: Iterable[NodeFacts]) -> Amounts:
    """What takes new work: nodes that are up, ready and not cordoned, and their healthy devices."""
    return _sum(pair for node in nodes if node.takes_work for pair in _healthy(node))


def out_of_service(nodes: Iterable[NodeFacts]) -> Amounts:
    """The rest of it, without zeros."""
    known = list(nodes)
    usable = in_service(known)
    rest = {name: amount - usable.get(name, 0) for name, amount in whole(known).items()}
    return {name: amount for name, amount in rest.items() if amount}


def _all(node: NodeFacts) -> Iterator[tuple[str, int]]:
    yield from _size(node)
    yield from ((f"accelerators/{one.offered_as}", one.count) for one in node.accelerators)


def _healthy(node: NodeFacts) -> Iterator[tuple[str, int]]:
    yield from _size(node)
    yield from ((f"accelerators/{one.offered_as}", one.healthy) for one in node.accelerators)


def _size(node: NodeFacts) -> Iterator[tuple[str, int]]:
    yield "vcpus", node.cpu_millis // 1000
    yield "memory_gib", node.memory_bytes // GIB


def _sum(pairs: Iterable[tuple[str, int]]) -> Amounts:
    total: Counter[str] = Counter()
    for name, amount in pairs:
        total[name] += amount
    return dict(total)
