"""The Dask operator: from its wheel in an environment of its own, as a process of this machine."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.kube.lab.control_plane import kubectl
from tests.kube.lab.places import CACHE, HERE, PKI
from tests.kube.lab.processes import running, start

NAME = "dask"
LOCK = HERE.parent.parent.parent / "requirements" / "dask-operator.txt"
CONTROLLER = "dask_kubernetes.operator.controller.controller"
_RUN = "import os, sys; os.environ['KUBECONFIG'] = sys.argv[1]; from kopf.cli import main; main(sys.argv[2:])"
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def environment() -> Path:
    """Where it belongs: under a key of its lock."""
    return CACHE / "bin" / f"{NAME}-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"


def build_environment() -> Path:
    """Whole or not at all: it is made under another name first."""
    target = environment()
    target.parent.mkdir(parents=True, exist_ok=True)
    with (CACHE / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "whole").exists():
            shutil.rmtree(target, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", target], check=True)
            words = [
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--require-hashes",
                "-r",
                str(LOCK),
            ]
            subprocess.run([str(target / "bin" / "python"), *words], check=True)
            (target / "whole").touch()
    return target


def start_dask_operator() -> None:
    """Its kinds first: kopf ends where they are not there."""
    python = build_environment() / "bin" / "python"
    if running(NAME):
        return
    bundle = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(_kinds(python))})
    kubectl("apply --server-side --force-conflicts -f -", stdin=bundle)
    kubectl("wait --for=condition=Established crd", "daskclusters.kubernetes.dask.org")
    os.environ["DASK_KUBERNETES__CONTROLLER__EVENTS__ENABLED"] = "false"
    words = ("run", "--standalone", "--all-namespaces", "-m", CONTROLLER)
    start(NAME, python, "-c", _RUN, PKI / f"{NAME}.kubeconfig", *words)


def _kinds(python: Path) -> list[dict[str, Any]]:
    """The wheel's own, whose schemas point at a file that no API server can read: they take anything."""
    asked = "import importlib.util as u; print(u.find_spec('dask_kubernetes').submodule_search_locations[0])"
    package = Path(subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout.strip())
    folder = package / "operator" / "customresources"
    found = [yaml.safe_load(file.read_text()) for file in sorted(folder.glob("dask*.yaml"))]
    kinds = [thing for thing in found if isinstance(thing, dict)]  # the others are patches of these
    for kind in kinds:
        for version in kind["spec"]["versions"]:
            version["schema"]["openAPIV3Schema"] = _ANYTHING
    return kinds
