"""The Celery application. Tasks are found in each app's `tasks` module and sent by name.

Celery's own fix-up for Django is left out: it ends the pool of database connections before and after each task, and to
sign in anew (a backend that starts, proves a password and fills its caches) costs more than most tasks do.
"""

import os
import warnings

import django
from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import import_modules, task_postrun, task_prerun, worker_init
from django.apps import apps
from django.db import close_old_connections

# As root by choice: the local driver starts each workspace under its project's own user. Only JSON is accepted.
warnings.filterwarnings("ignore", message="You're running the worker with superuser", category=SecurityWarning)
warnings.filterwarnings("ignore", message="An entry for the specified gid or egid", category=SecurityWarning)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")


@import_modules.connect
def _set_up(**_: object) -> None:
    """Before the tasks' modules are imported, in the worker's parent. It asks the database nothing, so forks share
    no connection."""
    django.setup()


app = Celery("steelyard", fixups=[])
app.set_default()  # of every thread: those of the web server send hints too
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(lambda: [config.name for config in apps.get_app_configs()])


@worker_init.connect
def _share_connections_like_requests(**_: object) -> None:
    """Around each task as around each request: what is old or broken is left, the rest goes back to the pool."""
    task_prerun.connect(_tidy)
    task_postrun.connect(_tidy)


def _tidy(**_: object) -> None:
    close_old_connections()
