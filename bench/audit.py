"""Audit: how long 10,000 entries take to be appended and sealed, and to be verified.

Entries are appended through `core.audit.record`, each an act of its own, in the organisation's scope, by two processes
at once, while a sealer goes round. A hundred acts share a transaction: the commit is the act's own cost
(`own_transaction_ms` says what an entry costs with a commit of its own). `load` is the machine's: on one that is busy
with other work the figures mean little. Verification reads the whole chain out of the database and walks it.
`python -m bench.audit [entries]` prints JSON rows.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from io import StringIO
from uuid import UUID

import django

from bench.scratch import scratch

LIMIT_SECONDS = 10.0
WRITERS = 2
ALONE = 200
WRITE = "--write"


def main(count: int) -> None:
    with scratch():
        tenant = importlib.import_module("tests.house").found("bench", projects=())
        sealing = importlib.import_module("core.sealing")
        sealing.seal_all()
        writers = [start_writer(tenant.organization.pk, count // WRITERS) for _ in range(WRITERS)]
        begun = time.perf_counter()
        for writer in writers:
            say(writer, "go")
        while any(writer.poll() is None for writer in writers):
            if not sealing.seal_all():
                time.sleep(0.05)
        appended = time.perf_counter() - begun
        while sealing.seal_all():
            pass
        sealed = time.perf_counter() - begun
        cpu = sum(json.loads(writer.communicate()[0])["cpu"] for writer in writers)
        begun = time.perf_counter()
        append(tenant.organization.pk, ALONE, together=1)
        alone = time.perf_counter() - begun
        sealing.seal_all()
        begun = time.perf_counter()
        importlib.import_module("django.core.management").call_command("verify_audit", stdout=StringIO())
        verified = time.perf_counter() - begun
    more = {
        "own_transaction_ms": round(alone * 1000 / ALONE, 2),
        "appended_s": round(appended, 2),
        "append_cpu_ms_per_entry": round(cpu * 1000 / count, 3),
    }
    row("audit_seal", sealed, count, LIMIT_SECONDS, load=round(os.getloadavg()[0], 1), **more)
    row("audit_verify", verified, count, None, entries_per_s=round(count / verified))


def start_writer(organization_id: UUID, count: int) -> subprocess.Popen[str]:
    """A process that is ready, and begins at a word."""
    words = [sys.executable, "-m", "bench.audit", WRITE, str(organization_id), str(count)]
    writer = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline().strip() == "ready"
    return writer


def say(writer: subprocess.Popen[str], word: str) -> None:
    assert writer.stdin is not None
    writer.stdin.write(f"{word}\n")
    writer.stdin.flush()


def write(organization_id: UUID, count: int) -> None:
    django.setup()
    scope = importlib.import_module("core.scope")
    with scope.of_organization(organization_id):
        pass  # connected
    print("ready", flush=True)
    sys.stdin.readline()
    cpu = time.process_time()
    append(organization_id, count)
    print(json.dumps({"cpu": time.process_time() - cpu}), flush=True)


def row(name: str, seconds: float, count: int, limit: float | None, **more: float) -> None:
    found = {"row": name, "unit": f"s for {count:,} entries", "ours": round(seconds, 2), "entries": count, **more}
    if limit is not None:
        found |= {"peer": limit, "ratio": round(seconds / limit, 3)}
    print(json.dumps(found))


def append(organization_id: UUID, count: int, *, together: int = 100) -> None:
    audit, acts, types, scope = (
        importlib.import_module(f"core.{name}") for name in ("audit", "acts", "types", "scope")
    )
    now = importlib.import_module("django.utils.timezone").now
    actor = types.system_actor("bench", organization_id)
    source = acts.Source(acts.SourceKind.API, "192.0.2.7", "0199aa00-0000-7000-8000-000000000007")
    for first in range(0, count, together):
        with scope.of_organization(organization_id):
            for number in range(first, min(first + together, count)):
                ref = types.ObjectRef("quota", str(number), "accelerators")
                before, after = {"limit": number}, {"limit": number + 1}
                with acts.begin(source):
                    audit.record(actor, "quota.limit_set", ref, now=now(), before=before, after=after)


if __name__ == "__main__":
    if sys.argv[1:2] == [WRITE]:
        write(UUID(sys.argv[2]), int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
