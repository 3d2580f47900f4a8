"""The Celery application. Tasks are found in each app's `tasks` module and sent by name."""

import os
import warnings

from celery import Celery
from celery.exceptions import SecurityWarning

# As root by choice: the local driver starts each workspace under its project's own user. Only JSON is accepted.
warnings.filterwarnings("ignore", message="You're running the worker with superuser", category=SecurityWarning)
warnings.filterwarnings("ignore", message="An entry for the specified gid or egid", category=SecurityWarning)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("steelyard")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
