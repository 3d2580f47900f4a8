"""A process that has loaded the platform and forks workers from it: each is real, logs in as the web role, and can die.

Started by `workers.hired()`. Reads lists of jobs as lines of JSON, runs the jobs of one line at once, and answers what
became of each.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from core import scope
from portal.celery import app
from provisioning.drivers.local import isolation
from provisioning.drivers.local.config import LocalConfig, LocalImage
from provisioning.drivers.local.driver import LocalDriver
from provisioning.models import Workload
from provisioning.reconciler import reconcile, sweeping
from tests.drivers.rig import config_in
from tests.faults.effects import Effects
from tests.faults.jobs import Job, Outcome

HERE = Path(__file__).resolve().parent
BETWEEN_LOOKS = 0.05
TIMES = {"POLL_EVERY": 0.04, "START_DEADLINE": 20, "STOP_DEADLINE": 20}


def main(folder: Path) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    app.set_default()
    config = config_of(folder)
    isolation.isolation_of(config)
    for line in sys.stdin:
        born = [_fork(Job(**job), config) for job in json.loads(line)]
        outcomes = [_became(pid, told) for pid, told in born]
        print(json.dumps([[each.died, each.effects] for each in outcomes]), file=answers, flush=True)


def config_of(folder: Path) -> LocalConfig:
    """The local driver with the lab in JupyterLab's place, and short times."""
    python = Path(sys.executable).resolve()
    command = (str(python), "-S", "-E", str(HERE / "lab.py"), "{socket}", "{home}")
    image = LocalImage(command=command, readable=(HERE, python.parent.parent))
    return replace(config_in(folder), images={"jupyterlab": image})


def _fork(job: Job, config: LocalConfig) -> tuple[int, int]:
    told, tell = os.pipe()
    pid = os.fork()
    if pid:
        os.close(tell)
        return pid, told
    status = 1
    try:
        _work(job, config, Effects(tell, job.fatal, config.state_dir))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _became(pid: int, told: int) -> Outcome:
    with os.fdopen(told) as effects:
        names = tuple(effects.read().splitlines())
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status > 0:
        raise SystemExit("a worker failed otherwise than by its death")
    return Outcome(died=status < 0, effects=names)


def _work(job: Job, config: LocalConfig, effects: Effects) -> None:
    """What a worker does for one workload, by its hints or by the sweep, until it is in the state or time is up."""
    shrunk = {name: timedelta(seconds=seconds) for name, seconds in {**TIMES, "LEASE": job.lease}.items()}
    settings.STEELYARD = {**settings.STEELYARD, **shrunk}
    driver = LocalDriver(config)
    organization, workload = UUID(job.organization), UUID(job.workload)
    patience = time.monotonic() + job.seconds
    connection.ensure_connection()
    effects.watch()
    while time.monotonic() < patience:
        if job.sweeps:
            sweeping.sweep_workloads(drivers=lambda _: driver, clock=timezone.now)
        else:
            reconcile(organization_id=organization, workload_id=workload, drivers=lambda _: driver, clock=timezone.now)
        with effects.unseen(), scope.of_organization(organization):
            if Workload.objects.filter(pk=workload, state=job.until).exists():
                return
        time.sleep(BETWEEN_LOOKS)
