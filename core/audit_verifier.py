"""Checks an exported audit log. One file, no dependencies:

    python audit_verifier.py LOG.jsonl [ANCHORS.jsonl] [--key PUBLIC_KEY]

The log is JSON Lines, one event a line, in the order of `seq` within each chain (one chain per organisation). Each
event's `hash` is SHA-256 over the previous event's hash and the event's own content as canonical JSON; the first event
of a chain follows 32 zero bytes. Deleted, reordered, edited and inserted entries break it. An entry that was chained
later with an earlier time is named too: within a chain `at` goes back by 15 minutes at most, the longest that acts
which ran side by side may differ.

Anchors are heads of chains that were signed by the installation and kept elsewhere, one a line: `{"kind": "head",
"organization_id", "seq", "hash", "at", "key", "signature"}`. They also find a log whose end was cut off, a chain that
was rewritten as a whole, and an entry that claims a time before an anchor which does not hold it. Where old entries
were removed by rule, the log begins with `{"kind": "cut", …}`, signed in the same way.

Signatures (Ed25519) are checked where the package `cryptography` can be imported; `--key` is the installation's public
key in hexadecimal (several with commas). Without it the keys that signed are printed, for you to compare.

Exit status 0: every sealed entry holds. 1: the first bad entry of each chain is named. 2: a file cannot be read.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    CAN_CHECK_SIGNATURES = True
except ImportError:
    CAN_CHECK_SIGNATURES = False

FIRST = bytes(32)
UNHASHED = ("seq", "hash", "prev_hash")
UNSIGNED = ("key", "signature")
LATE = timedelta(minutes=15)
_LONG_AGO = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


@dataclass(frozen=True)
class Fault:
    """The first bad entry of a chain: its place, its id where it has one, and what is wrong with it."""

    organization_id: str
    seq: int
    event_id: str
    what: str


@dataclass(frozen=True)
class Verdict:
    """`sealed`: the last good place, by chain. `unsealed`: entries of the tail that no hash covers yet. `keys`: public
    keys whose signatures hold; `unchecked`: signatures that could not be checked here."""

    sealed: Mapping[str, int]
    unsealed: int
    faults: tuple[Fault, ...]
    keys: tuple[str, ...] = ()
    unchecked: int = 0


def canonical(event: Mapping[str, object], *, without: tuple[str, ...] = UNHASHED) -> bytes:
    """The event's content: every field but place and hashes, keys sorted, no spaces, UTF-8."""
    content = {name: value for name, value in event.items() if name not in without}
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def hash_of(previous: bytes, event: Mapping[str, object]) -> bytes:
    return hashlib.sha256(previous + canonical(event)).digest()


def signed_part(record: Mapping[str, object]) -> bytes:
    """What the signature of an anchor or a cut covers: all of it but key and signature."""
    return canonical(record, without=UNSIGNED)


def verify(
    events: Iterable[Mapping[str, object]], anchors: Iterable[Mapping[str, object]] = (), *, keys: Iterable[str] = ()
) -> Verdict:
    """Walk every chain in the order given. The first broken entry of a chain ends the walk of that chain.

    `events` may hold cuts. `keys`: the public keys that may have signed; none: whichever.
    """
    seals = _Seals(keys)
    chains: dict[str, _Chain] = {}
    for anchor in anchors:
        chains.setdefault(str(anchor["organization_id"]), _Chain()).expect(anchor, seals)
    unsealed = 0
    for event in events:
        chain = chains.setdefault(str(event["organization_id"]), _Chain())
        if event.get("kind") == "cut":
            chain.begin_after(event, seals)
        elif event.get("seq") is None:
            unsealed += 1
        else:
            chain.take(event)
    for name, chain in chains.items():
        chain.end(name)
    faults = tuple(fault for chain in chains.values() for fault in (chain.fault, chain.late) if fault is not None)
    sealed = {name: chain.seq for name, chain in chains.items()}
    return Verdict(sealed, unsealed, faults, tuple(sorted(seals.keys)), seals.unchecked)


class _Seals:
    """The signatures of anchors and cuts."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._trusted = {key.strip().lower() for key in keys}
        self.keys: set[str] = set()
        self.unchecked = 0

    def wrong(self, record: Mapping[str, object]) -> str:
        key = str(record.get("key", "")).lower()
        if not record.get("signature"):
            return "is not signed"
        if self._trusted and key not in self._trusted:
            return "is signed by another key"
        if not CAN_CHECK_SIGNATURES:
            self.unchecked += 1
            return ""
        try:
            signature = bytes.fromhex(str(record["signature"]))
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(signature, signed_part(record))
        except (InvalidSignature, ValueError):
            return "has a signature that does not fit"
        self.keys.add(key)
        return ""


class _Chain:
    def __init__(self) -> None:
        self.seq = 0
        self.head = FIRST
        self.fault: Fault | None = None
        self.late: Fault | None = None
        self._latest = _LONG_AGO
        self._anchors: dict[int, list[Mapping[str, object]]] = {}

    def expect(self, anchor: Mapping[str, object], seals: _Seals) -> None:
        seq = anchor["seq"]
        if not isinstance(seq, int):
            raise ValueError("An anchor has no place.")
        wrong = seals.wrong(anchor) if "signature" in anchor or "kind" in anchor else ""
        if wrong:
            self._break(anchor, seq, f"stands in an anchor that {wrong}")
        self._anchors.setdefault(seq, []).append(anchor)

    def begin_after(self, cut: Mapping[str, object], seals: _Seals) -> None:
        seq = cut["seq"]
        wrong = seals.wrong(cut)
        if wrong or not isinstance(seq, int) or self.seq:
            self._break(cut, seq if isinstance(seq, int) else 0, f"ends a cut that {wrong or 'is out of place'}")
            return
        self.seq, self.head = seq, bytes.fromhex(str(cut["hash"]))
        self._anchors = {place: anchors for place, anchors in self._anchors.items() if place >= seq}
        self._compare(cut)

    def take(self, event: Mapping[str, object]) -> None:
        if self.fault is not None:
            return
        wrong = self._wrong(event)
        if wrong:
            seq = event["seq"]
            self._break(event, seq if isinstance(seq, int) else self.seq + 1, wrong)
            return
        self.seq += 1
        self.head = bytes.fromhex(str(event["hash"]))
        self._look_at_time(event)
        self._compare(event)

    def end(self, name: str) -> None:
        missing = min((seq for seq in self._anchors if seq > self.seq), default=None)
        if self.fault is None and missing is not None:
            what = "is missing: the end of the log was cut off"
            self.fault = Fault(name, missing, "", what)

    def _compare(self, entry: Mapping[str, object]) -> None:
        """An anchor at this place names the same entry, and fixes what time it was when nothing followed yet."""
        for anchor in self._anchors.pop(self.seq, ()):
            if str(anchor["hash"]) != str(entry["hash"]):
                self._break(entry, self.seq, "was rewritten: an anchor holds another entry at this place")
            elif "at" in anchor:
                self._latest = max(self._latest, datetime.fromisoformat(str(anchor["at"])))

    def _look_at_time(self, event: Mapping[str, object]) -> None:
        at = datetime.fromisoformat(str(event["at"]))
        if self.late is None and at < self._latest - LATE:
            what = f"is back-dated: it says {event['at']}, after what came before was chained at {self._latest}"
            self.late = _fault(event, self.seq, what)
        self._latest = max(self._latest, at)

    def _wrong(self, event: Mapping[str, object]) -> str:
        if event["seq"] != self.seq + 1:
            return f"stands where entry {self.seq + 1} belongs: an entry was deleted, inserted or moved"
        if event.get("prev_hash") != self.head.hex():
            return "does not follow the entry before it"
        if event.get("hash") != hash_of(self.head, event).hex():
            return "was changed after it was sealed"
        return ""

    def _break(self, entry: Mapping[str, object], seq: int, what: str) -> None:
        self.fault = self.fault or _fault(entry, seq, what)


def _fault(entry: Mapping[str, object], seq: int, what: str) -> Fault:
    return Fault(str(entry["organization_id"]), seq, str(entry.get("id", "")), what)


def lines_of(path: str) -> Iterator[Mapping[str, object]]:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 (plain words on purpose)
        for line in file:
            if line.strip():
                yield json.loads(line)


def words_of(verdict: Verdict) -> list[str]:
    """The verdict, a line for each chain and each thing to know."""
    lines = [
        f"BAD  {fault.organization_id} entry {fault.seq} {fault.event_id}: {fault.what}" for fault in verdict.faults
    ]
    bad = {fault.organization_id for fault in verdict.faults}
    lines += [f"GOOD {chain}: {seq} entries hold" for chain, seq in sorted(verdict.sealed.items()) if chain not in bad]
    if verdict.unsealed:
        lines.append(f"OPEN {verdict.unsealed} entries are not sealed yet")
    lines += [f"KEY  {key}: its signatures hold" for key in verdict.keys]
    if verdict.unchecked:
        lines.append(
            f"SKIP {verdict.unchecked} signatures are not checked: `pip install cryptography` and run it again"
        )
    return lines


def main(words: list[str]) -> int:
    keys: list[str] = []
    if "--key" in words[:-1]:
        place = words.index("--key")
        keys = words[place + 1].split(",")
        words = words[:place] + words[place + 2 :]
    if not 1 <= len(words) <= 2 or words[0].startswith("-"):
        print(__doc__, file=sys.stderr)  # noqa: T201
        return 2
    try:
        verdict = verify(lines_of(words[0]), lines_of(words[1]) if len(words) == 2 else (), keys=keys)
    except (OSError, ValueError, KeyError) as error:
        print(f"The log cannot be read: {error}", file=sys.stderr)  # noqa: T201
        return 2
    print("\n".join(words_of(verdict)))  # noqa: T201
    return 1 if verdict.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
