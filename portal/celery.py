"""The Celery application. Tasks are found in each app's `tasks` module and sent by name."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("steelyard")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
