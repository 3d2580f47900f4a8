"""The programs, built from Go modules and kept under a key of all that goes into them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.kube.lab.places import CACHE, HERE

USUAL_GO = "/usr/local/go/bin"  # where Go's own archive belongs, often not on the PATH


def binaries(folder: str) -> Path:
    """Where the binaries of a Go module belong: under a key of all that goes into them."""
    key = hashlib.sha256(b"".join(path.read_bytes() for path in sorted((HERE / folder).glob("*.*")))).hexdigest()[:12]
    return CACHE / "bin" / f"{folder}-{key}"


def go_program() -> str | None:
    return shutil.which("go", path=os.pathsep.join((os.environ.get("PATH", ""), USUAL_GO)))


def lacks() -> str:
    """What this machine must have and has not, in words; empty where a lab can run."""
    needed = {"Go": go_program(), "openssl": shutil.which("openssl")}
    return " and ".join(name for name, found in needed.items() if not found)


def go(folder: str, *words: str) -> str:
    # A build cache of its own, since it grows to gigabytes and is of no use once the binary is there.
    environment = os.environ | {"CGO_ENABLED": "0", "GOCACHE": str(CACHE / "go-build")}
    done = subprocess.run(
        [go_program() or "go", *words], cwd=HERE / folder, env=environment, check=True, stdout=subprocess.PIPE
    )
    return done.stdout.decode().strip()


def version_flags() -> str:
    version = go("control-plane", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
    major, minor, _ = version.removeprefix("v").split(".", 2)
    facts = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return "".join(f" -X {package}.{fact}={value}" for package in packages for fact, value in facts.items())


def build(folder: str) -> Path:
    target = binaries(folder)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with (CACHE / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _say(f"building {folder}, once; this takes minutes")
            begin, fresh = time.monotonic(), target.with_suffix(".new")
            package, flags = (".", "-s -w" + version_flags()) if folder == "control-plane" else ("tool", "-s -w")
            go(
                folder,
                "build",
                "-trimpath",
                "-buildvcs=false",
                "-gcflags=all=-dwarf=false",
                "-ldflags",
                flags,
                "-o",
                f"{fresh}/",
                package,
            )
            fresh.rename(target)
            shutil.rmtree(CACHE / "go-build")
            _say(f"built {folder} in {time.monotonic() - begin:.0f} s")
    return target


def _say(text: str) -> None:
    print(f"lab: {text}", file=sys.stderr, flush=True)
