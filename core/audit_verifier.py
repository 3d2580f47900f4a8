"""Checks an exported audit log. One file, no dependencies: `python audit_verifier.py LOG.jsonl [ANCHORS.jsonl]`.

The log is JSON Lines, one event a line, in the order of `seq` within each chain (one chain per organisation). Each
event's `hash` is SHA-256 over the previous event's hash and the event's own content as canonical JSON; the first event
of a chain follows 32 zero bytes. Deleted, reordered, edited, inserted and back-dated entries break it. An anchors file
(`{"organization_id", "seq", "hash"}` a line, kept elsewhere) also finds a log whose end was cut off or rewritten.

Exit status 0: every sealed entry holds. 1: the first bad entry of each chain is named. 2: the file cannot be read.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

FIRST = bytes(32)
UNHASHED = ("seq", "hash", "prev_hash")


@dataclass(frozen=True)
class Fault:
    """The first bad entry of a chain: its place, its id where it has one, and what is wrong with it."""

    organization_id: str
    seq: int
    event_id: str
    what: str


@dataclass(frozen=True)
class Verdict:
    """`sealed`: entries that hold, by chain. `unsealed`: entries of the tail that no hash covers yet."""

    sealed: Mapping[str, int]
    unsealed: int
    faults: tuple[Fault, ...]


def canonical(event: Mapping[str, object]) -> bytes:
    """The event's content: every field but place and hashes, keys sorted, no spaces, UTF-8."""
    content = {name: value for name, value in event.items() if name not in UNHASHED}
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def hash_of(previous: bytes, event: Mapping[str, object]) -> bytes:
    return hashlib.sha256(previous + canonical(event)).digest()


def verify(events: Iterable[Mapping[str, object]], anchors: Iterable[Mapping[str, object]] = ()) -> Verdict:
    """Walk every chain in the order given. The first fault of a chain ends the walk of that chain."""
    chains: dict[str, _Chain] = {}
    unsealed = 0
    for event in events:
        if event.get("seq") is None:
            unsealed += 1
            continue
        chains.setdefault(str(event["organization_id"]), _Chain()).take(event)
    for anchor in anchors:
        chains.setdefault(str(anchor["organization_id"]), _Chain()).compare(anchor)
    faults = tuple(chain.fault for chain in chains.values() if chain.fault is not None)
    return Verdict({name: chain.seq for name, chain in chains.items()}, unsealed, faults)


class _Chain:
    def __init__(self) -> None:
        self.seq = 0
        self.head = FIRST
        self.at = ""
        self.hashes: dict[int, str] = {}
        self.fault: Fault | None = None

    def take(self, event: Mapping[str, object]) -> None:
        if self.fault is not None:
            return
        wrong = self._wrong(event)
        if wrong:
            seq = event["seq"]
            place = seq if isinstance(seq, int) else self.seq + 1
            self.fault = Fault(str(event["organization_id"]), place, str(event.get("id", "")), wrong)
            return
        self.seq += 1
        self.head = bytes.fromhex(str(event["hash"]))
        self.hashes[self.seq] = str(event["hash"])

    def compare(self, anchor: Mapping[str, object]) -> None:
        seq, expected = anchor["seq"], str(anchor["hash"])
        if self.fault is not None or not isinstance(seq, int):
            return
        if self.hashes.get(seq) != expected:
            what = "is missing: the end of the log was cut off" if seq not in self.hashes else "was rewritten"
            self.fault = Fault(str(anchor["organization_id"]), seq, "", what)

    def _wrong(self, event: Mapping[str, object]) -> str:
        if event["seq"] != self.seq + 1:
            return f"stands where entry {self.seq + 1} belongs: an entry was deleted, inserted or moved"
        if event.get("prev_hash") != self.head.hex():
            return "does not follow the entry before it"
        if event.get("hash") != hash_of(self.head, event).hex():
            return "was changed after it was sealed"
        return ""


def lines_of(path: str) -> Iterator[Mapping[str, object]]:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 (plain words on purpose)
        for line in file:
            if line.strip():
                yield json.loads(line)


def main(words: list[str]) -> int:
    if not 1 <= len(words) <= 2:
        print(__doc__, file=sys.stderr)  # noqa: T201
        return 2
    try:
        verdict = verify(lines_of(words[0]), lines_of(words[1]) if len(words) == 2 else ())
    except (OSError, ValueError, KeyError) as error:
        print(f"The log cannot be read: {error}", file=sys.stderr)  # noqa: T201
        return 2
    for fault in verdict.faults:
        print(f"BAD  {fault.organization_id} entry {fault.seq} {fault.event_id}: {fault.what}")  # noqa: T201
    bad = {fault.organization_id for fault in verdict.faults}
    for chain, count in sorted(verdict.sealed.items()):
        if chain not in bad:
            print(f"GOOD {chain}: {count} entries hold")  # noqa: T201
    if verdict.unsealed:
        print(f"OPEN {verdict.unsealed} entries are not sealed yet")  # noqa: T201
    return 1 if verdict.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
