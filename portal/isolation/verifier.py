"""Checks a report of `manage.py prove_isolation`. One file, no dependencies but `cryptography`:

    python verifier.py REPORT.json [--key PUBLIC_KEY]

The report is one JSON object. Its `seal` holds the SHA-256 of every part (`about`, `counts`, `failures`, each route,
each table, each check of the database's roles) over the part's canonical JSON, the installation's public key (Ed25519,
in hexadecimal) and its signature over the canonical JSON of the kind, the format and those digests. So a change is
found, and its place is named.

`--key` is the installation's public key (several with commas): `manage.py anchor_audit --public-key` shows it. Without
it the key that signed is printed, for you to compare.

Exit status 0: the report is as it was signed. 1: it is not. 2: it cannot be read.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

KIND, FORMAT = "isolation_report", 1
MANY = ("routes", "tables", "roles")
"""Parts of many rows, each under a digest of its own."""


@dataclass(frozen=True)
class Verdict:
    """`faults`: what is wrong, one sentence each; none: it holds. `key`: whose signature it is."""

    faults: tuple[str, ...]
    key: str = ""

    @property
    def holds(self) -> bool:
        return not self.faults


def canonical(part: object) -> bytes:
    return json.dumps(part, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def written(report: Mapping[str, object]) -> bytes:
    """The one form in which a report is a file."""
    return json.dumps(report, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def digests(report: Mapping[str, object]) -> dict[str, str]:
    """The SHA-256 of each part, by its name."""
    return {name: hashlib.sha256(canonical(part)).hexdigest() for name, part in _parts(report)}


def signed_part(kind: object, form: object, found: Mapping[str, object]) -> bytes:
    return canonical({"kind": kind, "format": form, "digests": dict(found)})


def verify(text: bytes, *, keys: Sequence[str] = ()) -> Verdict:
    """`keys`: public keys that may have signed; none: any, which is then for the reader to compare."""
    try:
        report = json.loads(text)
    except ValueError:
        return Verdict(("The file is no JSON: it was cut short, or changed where that shows.",))
    seal = report.get("seal") if isinstance(report, dict) else None
    if not isinstance(seal, dict) or not isinstance(seal.get("digests"), dict) or report.get("kind") != KIND:
        return Verdict(("This is no report with a seal.",))
    key = str(seal.get("key", ""))
    faults = (*_faults_of_seal(report, seal, keys), *_faults_of_parts(report, seal["digests"]))
    if not faults and written(report) != text:
        faults = ("The text was changed in form: spaces, the order of names, or a name that stands twice.",)
    return Verdict(faults, key)


def _faults_of_seal(report: Mapping[str, object], seal: Mapping[str, object], keys: Sequence[str]) -> Iterator[str]:
    key = str(seal.get("key", ""))
    if keys and key not in keys:
        yield f"It was signed by another key: {key}."
    found = seal["digests"]
    assert isinstance(found, dict)
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(
            bytes.fromhex(str(seal.get("signature"))), signed_part(report.get("kind"), report.get("format"), found)
        )
    except (InvalidSignature, ValueError):
        yield "The signature does not hold: the seal itself was changed."


def _faults_of_parts(report: Mapping[str, object], sealed: Mapping[str, str]) -> Iterator[str]:
    found = digests(report)
    yield from (f"Changed: {name}." for name in sorted(found) if name in sealed and found[name] != sealed[name])
    yield from (f"Added: {name}." for name in sorted(found.keys() - sealed.keys()))
    yield from (f"Missing: {name}." for name in sorted(sealed.keys() - found.keys()))


def _parts(report: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, part in report.items():
        if name in MANY and isinstance(part, dict):
            yield from ((f"{name} / {row}", content) for row, content in part.items())
        elif name not in ("seal", "kind", "format"):
            yield name, part


def main(words: Sequence[str]) -> int:
    keys: tuple[str, ...] = ()
    files = list(words)
    if "--key" in files:
        place = files.index("--key")
        keys = tuple(files[place + 1].split(",")) if place + 1 < len(files) else ()
        del files[place : place + 2]
    if len(files) != 1:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    try:
        verdict = verify(Path(files[0]).read_bytes(), keys=keys)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("".join(f"BAD  {fault}\n" for fault in verdict.faults))
    sys.stdout.write(f"{'The report holds' if verdict.holds else 'The report does not hold'}; key {verdict.key}\n")
    return 0 if verdict.holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
